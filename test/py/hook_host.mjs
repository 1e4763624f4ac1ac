// Starts a hook host for the Python tests: JSON options in argv, one JSON line {address, token, pid} out; ends with its stdin.
import { startHookHost } from "../../dist/bridge/hooks/host.js";

const options = JSON.parse(process.argv[2]);
const events = [];
try {
  const host = await startHookHost({
    ...options,
    onEvent: (event) => {
      events.push(event);
      process.stderr.write(`${JSON.stringify(event)}\n`);
    },
  });
  const { address, token } = host.remote ?? { address: host.address, token: null };
  process.stdout.write(`${JSON.stringify({ address, token, pid: host.pid })}\n`);
  process.stdin.on("end", async () => {
    await host.close();
    process.exit(0);
  });
  process.stdin.resume();
} catch (error) {
  process.stdout.write(
    `${JSON.stringify({ error: error.message, code: error.code, hint: error.hint })}\n`,
  );
  process.exit(1);
}
