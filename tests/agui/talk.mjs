// A browser's conversation by the protocol's own client, which verifies every stream it reads (G6).
// Usage: node talk.mjs NODE_MODULES BASE; prints one JSON object: what each scene came to.
import { pathToFileURL } from "node:url";

const [modules, base] = process.argv.slice(2);
const { HttpAgent } = await import(pathToFileURL(`${modules}/@ag-ui/client/dist/index.mjs`));

class Agent extends HttpAgent {
  // The route for who comes back: what is known there is told, then what runs.
  connect(input) {
    const other = new HttpAgent({ url: `${this.url}/connect` });
    other.requestInit = () => ({
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify({ threadId: input.threadId, runId: input.runId }),
    });
    return other.run(input);
  }
}

const chart = { name: "show_chart", description: "Shows a chart.", parameters: { type: "object" } };
let numbers = 0;
const agent = (thread, messages = []) =>
  new Agent({ url: `${base}/agui/talker`, threadId: thread, initialMessages: messages });
const say = (talk, content) => talk.addMessage({ id: `u-${++numbers}`, role: "user", content });
const roles = (talk) => talk.messages.filter((message) => !message.subagentRunId).map((message) => message.role);
const last = (talk) => talk.messages.at(-1).content;

async function run(talk, parameters = {}) {
  const told = [];
  const { result } = await talk.runAgent(parameters, { onEvent: ({ event }) => void told.push(event) });
  return { told, types: told.map((event) => event.type), end: told.at(-1), result };
}

const scenes = {
  async chat() {
    const talk = agent("chat");
    say(talk, "hello");
    const { types, end } = await run(talk);
    return { roles: roles(talk), last: last(talk), outcome: end.outcome, usage: end.usage.length, streamed: types.filter((type) => type === "TEXT_MESSAGE_CONTENT").length };
  },
  async tool() {
    const talk = agent("tool");
    say(talk, "look it up");
    await run(talk);
    return { roles: roles(talk), result: talk.messages[2].content, last: last(talk) };
  },
  async clientTool() {
    const talk = agent("client tool");
    say(talk, "draw a chart");
    const { end } = await run(talk, { tools: [chart] });
    const [call] = talk.messages.at(-1).toolCalls;
    talk.addMessage({ id: "shown", role: "tool", toolCallId: call.id, content: "shown" });
    await run(talk, { tools: [chart] });
    return { pending: end.outcome.pendingToolCallIds.length, roles: roles(talk), last: last(talk) };
  },
  async question() {
    const talk = agent("question");
    say(talk, "which plan");
    const { end } = await run(talk);
    const [asked] = end.outcome.interrupts;
    await run(talk, { resume: [{ interruptId: asked.id, status: "resolved", payload: { Plan: "Pro" } }] });
    return { reason: asked.reason, roles: roles(talk), last: last(talk) };
  },
  async branches() {
    const talk = agent("branches");
    say(talk, "hello");
    await run(talk);
    const first = [...talk.messages];
    talk.setMessages(first.slice(0, 1)); // regenerate
    await run(talk);
    const again = talk.messages.at(-1).id;
    talk.setMessages([]); // edit
    say(talk, "hello again");
    await run(talk);
    talk.setMessages(first); // back to the first branch
    await run(talk);
    const reader = agent("branches");
    await reader.connectAgent();
    return { regenerated: again !== first[1].id, back: reader.messages.map((m) => m.id).join() === first.map((m) => m.id).join() };
  },
  async reload() {
    const talk = agent("reload");
    say(talk, "tell slowly");
    const seen = new Promise((resolve) => talk.subscribe({ onTextMessageContentEvent: () => resolve() }));
    const running = run(talk).catch(() => null);
    await seen;
    talk.abortRun();
    await running;
    const reader = agent("reload");
    await reader.connectAgent();
    return { roles: roles(reader), last: last(reader) };
  },
  async retry() {
    const talk = agent("retry");
    say(talk, "tell slowly");
    const view = structuredClone(talk.messages);
    const seen = new Promise((resolve) => talk.subscribe({ onTextMessageContentEvent: () => resolve() }));
    const running = run(talk, { runId: "same" }).catch(() => null);
    await seen;
    talk.abortRun();
    await running;
    const again = agent("retry", view); // the same run again: the same step, once
    await run(again, { runId: "same" });
    return { roles: roles(again), last: last(again) };
  },
  async subAgent() {
    const talk = agent("sub-agent");
    say(talk, "ask the helper");
    const { told, types } = await run(talk);
    const begun = told.find((event) => event.type === "SUBAGENT_STARTED");
    say(talk, "hello"); // what the helper said is no message of this conversation
    await run(talk);
    return { name: begun.name, ended: types.includes("SUBAGENT_FINISHED"), roles: roles(talk), last: last(talk) };
  },
  async state() {
    const talk = agent("state");
    talk.setState({ mine: true });
    say(talk, "hello");
    await run(talk);
    const kept = talk.state;
    say(talk, "count me");
    await run(talk);
    return { kept, state: talk.state };
  },
  async error() {
    const talk = agent("error");
    say(talk, "fail");
    const told = [];
    await talk.runAgent({}, { onEvent: ({ event }) => void told.push(event) }).catch(() => null);
    return { type: told.at(-1).type, code: told.at(-1).code };
  },
  async cancelled() {
    const talk = agent("cancelled");
    say(talk, "tell slowly");
    const seen = new Promise((resolve) => talk.subscribe({ onTextMessageContentEvent: () => resolve() }));
    const running = run(talk);
    await seen;
    await fetch(`${base}/api/v1/stop-session?sessionId=cancelled`, { method: "POST" });
    const { end } = await running;
    return { outcome: end.outcome, roles: roles(talk) };
  },
};

const came = {};
for (const [name, scene] of Object.entries(scenes)) {
  came[name] = await scene().catch((error) => ({ failed: String(error?.stack ?? error) }));
}
console.log(JSON.stringify(came));
