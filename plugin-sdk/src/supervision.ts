/**
 * The part that a node and the program that runs it share: their messages, the socket that one passes to the other, and the signals that end
 * both. It needs nothing but Node.
 */

export { messageOf } from './error-text.ts'
export { type ChildEnd, ChildNode } from './supervision/child-node.ts'
export type { SupervisorDescription } from './supervision/description.ts'
export { takeInheritedSocket } from './supervision/inherited-socket.ts'
export { listenProblem } from './supervision/listen-problem.ts'
export type { FromParent, ReleaseRequest, ToParent } from './supervision/messages.ts'
export type { ReleaseFile } from './supervision/release-file.ts'
export { listenForStop, type StopSignals } from './supervision/stop-signals.ts'
