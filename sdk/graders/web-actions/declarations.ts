/** One parameter of an action, in the place it has when it is given without its name. */
export interface ActionParameter {
  name: string;
  /** "boolean" reads true, True and "true" alike; "id" compares as text, so that 07 is not 7. */
  type?: "text" | "id" | "boolean" | "number";
  /** What leaving the parameter out means; without one it must be given as the ground truth gives it. */
  default?: string;
}

/** The actions that a page takes: each name with its parameters in order. */
export type ActionDeclarations = Record<string, readonly ActionParameter[]>;

const bid: ActionParameter = { name: "bid", type: "id" };
const button: ActionParameter = { name: "button", default: "left" };

/** The actions known without a declaration. */
export const defaultActions: ActionDeclarations = {
  click: [bid, button],
  dblclick: [bid, button],
  hover: [bid],
  focus: [bid],
  clear: [bid],
  check: [bid],
  uncheck: [bid],
  type: [bid, { name: "value" }, { name: "press_enter", type: "boolean" }],
  fill: [bid, { name: "value" }],
  press: [bid, { name: "key_comb" }],
  select_option: [bid, { name: "options" }],
  scroll: [
    { name: "delta_x", type: "number" },
    { name: "delta_y", type: "number" },
  ],
  drag_and_drop: [
    { name: "from_bid", type: "id" },
    { name: "to_bid", type: "id" },
  ],
  goto: [{ name: "url" }],
  go_back: [],
  go_forward: [],
  new_tab: [],
  tab_close: [],
  tab_focus: [{ name: "index", type: "number" }],
  noop: [],
  send_msg_to_user: [{ name: "text" }],
};
