/**
 * The protocol between a node and its gateway. The gateway is a machine on the internet; the node opens all connections.
 *
 * Each connection is TLS 1.3 with the ALPN protocol `nodekeep-tunnel/1`. Both sides show the certificate of their node key and
 * know each other by it. The node then writes one line of JSON that names the purpose of the connection.
 *
 * | Purpose | After the first line |
 * |---|---|
 * | `control` | Both sides send messages, one JSON object a line. There is one such connection for each node. |
 * | `data` | The connection waits until the gateway writes one line about a client. Then it carries the bytes of that client. |
 * | `api` | HTTP/1.1 to the gateway's own API. |
 *
 * | Message | From | Meaning |
 * |---|---|---|
 * | `welcome` | gateway | The node is registered, under a port and URLs. A later one replaces it. |
 * | `dial` | gateway | Open more data connections. |
 * | `reachability` | gateway | The gateway came to a URL of the node as a client would: whether the node itself answered. |
 * | `replaced` | gateway | Another process with the same key has taken the place of this one. |
 * | `refused` | gateway | The node is not taken in. The connection ends. |
 * | `stopping` | gateway | The gateway stops. It sends no new clients; those that are there may finish. |
 * | `leaving` | node | The node stops. It takes no new clients; those that are there may finish. |
 * | `ping`, `pong` | both | A side sends `ping` every 4 s and answers each one with `pong`. A side that hears nothing for 9 s gives up. |
 *
 * A line has at most 4 KiB. Fields that a side does not know are ignored; other messages end the connection.
 */
export { addressStatement, isSignedBy } from './tunnel/address-proof.ts'
export { ControlChannel, type ControlChannelOptions } from './tunnel/control-channel.ts'
export {
  type ClientLine,
  type FirstLine,
  type GatewayMessage,
  type KeepAlive,
  maxLineBytes,
  type NodeMessage,
  readClientLine,
  readFirstLine,
  readGatewayMessage,
  readNodeMessage,
  tunnelProtocol,
  tunnelVersion,
  writeLine,
} from './tunnel/messages.ts'
export { type HeadLimits, type HeadParser, headLine, readHead } from './tunnel/read-head.ts'
export { nodeIdOf, type TunnelTls, tunnelTls } from './tunnel/tls-identity.ts'
