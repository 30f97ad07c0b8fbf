// A worker on HTTP, written from docs/worker-protocol.md alone: it settles a call, replaces a proposal, keeps state.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = process.env.WORKER_SECRET;
const WINDOW_SECS = 300;

function isOurs(headers, body) {
  const timestamp = headers["x-agentflow-timestamp"] ?? "";
  const given = Buffer.from(headers["x-agentflow-signature"] ?? "");
  const hmac = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${hmac}`);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
  const now = Number(process.env.WORKER_NOW ?? Date.now() / 1000);
  return Math.abs(now - Number(timestamp)) <= WINDOW_SECS;
}

function decide({ trigger, proposed, state }) {
  switch (trigger.type) {
    case "session.start":
      return { state: { turns: 0 } };
    case "client.messages":
      return {
        messages: proposed.messages,
        actions: [{ type: "llm.call", prompt: "You are told by Node." }],
        state: { turns: (state?.turns ?? 0) + 1 },
      };
    case "tool.execute":
      return { actions: [{ type: "tool.result", id: trigger.id, result: { refunded: trigger.input.amount } }] };
    case "turn.finished":
      return { actions: [{ type: "done", data: { turns: state.turns } }] };
    default:
      return proposed;
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!isOurs(request.headers, body)) {
      response.writeHead(401).end("not signed");
      return;
    }
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(decide(JSON.parse(body.toString("utf8")))));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
