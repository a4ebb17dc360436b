import { defineService } from '../service.ts'

/** Restarts the process of the node. */
export interface NodeRestart {
  /** Whether a service manager starts the node again after a restart was requested (the setting `supervised`). */
  readonly supervised: boolean
  /**
   * Asks the node to stop gracefully and to be started again. The stop begins after this call: requests that run have
   * `server.drainSeconds` to end.
   *
   * @param reason one sentence for the log
   * @throws NodekeepError CONFLICT if nothing would start the node again; the message says what to do instead
   */
  restart(reason: string): void
}

/** The kernel's service that restarts the node. */
export const NodeRestart = defineService<NodeRestart>('node-restart', 1)
