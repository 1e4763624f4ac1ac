import { expect, test } from "vitest";
import { namesOwnSource, parsePipConfig, toUvVariables } from "../../bridge/python/pip-settings.js";

test("reads pip's settings, lists over several lines too, and lets install win over global", () => {
  const text = String.raw`:env:.find-links='/env'
global.extra-index-url='https://a/simple\nhttps://b/simple'
global.index-url='https://global/simple'
install.index-url='https://install/simple'
list.format='columns'`;
  expect(parsePipConfig(text)).toEqual({
    "extra-index-url": "https://a/simple https://b/simple",
    "index-url": "https://install/simple",
  });
});

test("reads no settings from an empty list", () => {
  expect(parsePipConfig("")).toEqual({});
  expect(toUvVariables({}, {})).toEqual({});
  expect(namesOwnSource({})).toBe(false);
});

test("says the same to uv in its own variables", () => {
  const pip = {
    "index-url": "https://mirror/simple",
    "extra-index-url": "https://a/simple https://b/simple",
    "find-links": "/wheels /more",
    cert: "/ca.pem",
    "trusted-host": "mirror",
  };
  const variables = toUvVariables(pip, {});
  expect(variables).toEqual({
    UV_DEFAULT_INDEX: "https://mirror/simple",
    UV_INDEX: "https://a/simple https://b/simple",
    UV_INDEX_STRATEGY: "unsafe-best-match",
    UV_FIND_LINKS: "/wheels,/more",
    UV_INSECURE_HOST: "mirror",
    SSL_CERT_FILE: "/ca.pem",
  });
  expect(namesOwnSource(variables)).toBe(true);
});

test("leaves a variable of uv's own as the user set it", () => {
  expect(toUvVariables({ "find-links": "/pip" }, { UV_FIND_LINKS: "/uv" })).toEqual({});
});
