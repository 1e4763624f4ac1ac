import { describe, expect, it } from "vitest";
import { type WebActionsOptions, webActions } from "../../../sdk/graders/index.js";

function scoreOf(response: string, groundTruth: unknown, options?: WebActionsOptions): number {
  return webActions({ response, groundTruth }, options).score;
}

const typed = 'type(bid=205, value="desk (oak), 2nd", press_enter=True)';

describe("webActions takes as one action", () => {
  it.each([
    ["click(bid=32)", "click('32')"],
    ["click( bid = 32 )", 'click(bid="32")'],
    ["click (bid=32)", "click(32)"],
    ["`click(bid=32)`", "click(bid=32)"],
    ['click(bid=32, button="left")', "click(bid=32)"],
    ["type(bid=205, value='desk (oak), 2nd', press_enter=true)", typed],
    ["type(bid=205, value=desk (oak), 2nd, press_enter=True)", typed],
    ["type(205, 'desk (oak), 2nd', True)", typed],
    ['type(press_enter=True, value="desk (oak), 2nd", bid=205)', typed],
    ['type(bid=205, value="desk (oak), 2nd", press_enter="true")', typed],
    [
      "type(bid=1, value='it's here', press_enter=False)",
      'type(bid=1, value="it\'s here", press_enter=False)',
    ],
    [
      'type(bid=1, value="say \\"hi\\"", press_enter=False)',
      "type(bid=1, value='say \"hi\"', press_enter=False)",
    ],
    ["type(bid=1, value=a=b, press_enter=False)", 'type(bid=1, value="a=b", press_enter=False)'],
    ["select_option(bid=81, options=['a', 'b'])", 'select_option(bid=81, options=["a", "b"])'],
    ["select_option(81, ['Two nights'])", "select_option(bid=81, options=Two nights)"],
    ["scroll(0, 200.0)", "scroll(delta_x=0, delta_y=200)"],
    ["go_back()", "go_back()"],
    ["I go back (once). go_back()", "go_back()"],
    ["goto('https://a.example/x?y=(1)')", "goto(url=https://a.example/x?y=(1))"],
  ])("%s and %s", (response, gold) => {
    expect(scoreOf(response, gold)).toBe(1);
  });
});

describe("webActions tells apart", () => {
  it.each([
    ["click(bid=33)", "click(bid=32)"],
    ["click(bid=032)", "click(bid=32)"],
    ["hover(bid=32)", "click(bid=32)"],
    ["Click(bid=32)", "click(bid=32)"],
    ['click(bid=32, button="right")', "click(bid=32)"],
    ["click()", "click(bid=32)"],
    ['type(bid=205, value="desk (oak)", press_enter=True)', typed],
    ['type(bid=205, value="Desk (oak), 2nd", press_enter=True)', typed],
    ['type(bid=205, value="desk (oak), 2nd")', typed],
    ['type(bid=205, value="desk (oak), 2nd", press_enter=True, x=1)', typed],
    ['type(bid=205, value="desk (oak), 2nd", press_enter=Tru', typed],
    ['type(bid=205, bid=205, value="desk (oak), 2nd", press_enter=True)', typed],
    ["select_option(bid=81, options=['b', 'a'])", 'select_option(bid=81, options=["a", "b"])'],
    ["click(bid=32)\nclick(bid=32)", "click(bid=32)"],
    ["my_click(bid=32)", "click(bid=32)"],
    ["", "click(bid=32)"],
  ])("%s and %s", (response, gold) => {
    expect(scoreOf(response, gold)).toBe(0);
  });
});

describe("webActions compares sequences", () => {
  it("in order, from a list, one text or alternatives", () => {
    expect(scoreOf("click(1)\ngo_back()", ["click(1)", "go_back()"])).toBe(1);
    expect(scoreOf("click(1)\ngo_back()", "click(1)\ngo_back()")).toBe(1);
    expect(scoreOf("click(1); go_back()", '["click(1)", "go_back()"]')).toBe(1);
    expect(scoreOf("go_back()\nclick(1)", ["click(1)", "go_back()"])).toBe(0);
    expect(scoreOf("click(1)", ["click(1)", "go_back()"])).toBe(0);
    expect(scoreOf("go_back()", { anyOf: ["click(1)", "go_back()"] })).toBe(1);
    expect(scoreOf("click(1)\nclick(2)", { anyOf: ["go_back()", ["click(1)", "click(2)"]] })).toBe(
      1,
    );
  });
});

describe("webActions wants no action", () => {
  it("where the ground truth is an empty list", () => {
    expect(scoreOf("Nothing is left to do.", [])).toBe(1);
    expect(scoreOf("click(bid=1)", [])).toBe(0);
  });
});

describe("webActions knows more actions", () => {
  const actions = { swipe: [{ name: "direction" }, { name: "speed", default: "1" }] };

  it("by declaration, with their positional parameters and defaults", () => {
    expect(scoreOf("swipe('left')", "swipe(direction=left, speed=1)", { actions })).toBe(1);
    expect(scoreOf("swipe('right')", "swipe(direction=left)", { actions })).toBe(0);
  });

  it("by the ground truth's own use, with keywords", () => {
    expect(scoreOf("Then zoom(level=2).", "zoom(level=2)")).toBe(1);
    expect(scoreOf("Then zoom(level=3).", "zoom(level=2)")).toBe(0);
  });

  it("and says where a ground truth is no action", () => {
    for (const gold of [null, 5, "nothing", {}, [5], { anyOf: [] }]) {
      const grade = webActions({ response: "click(1)", groundTruth: gold });
      expect(grade).toMatchObject({ score: 0, reason: "the ground truth is no action" });
    }
  });
});

describe("webActions says why", () => {
  it.each([
    ["click(bid=1)", 'click: bid is "1", not "32"'],
    ["click()", "bid is missing"],
    ["I click the button.", "no action was found"],
    ["click(bid=32)\ngo_back()", "2 actions where 1"],
    ["click(bid=32", "never closed"],
  ])("%s", (response, reason) => {
    expect(webActions({ response, groundTruth: "click(bid=32)" }).reason).toContain(reason);
  });
});
