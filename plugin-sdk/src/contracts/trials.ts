import { defineService } from '../service.ts'
import type { NodeFolder, RestorePlan } from './restores.ts'

/** How a node on trial differs from the running one. */
export interface TrialOptions {
  /** The absolute path of its data folder, which exists. It is never that of the running node. */
  readonly data: string
  /**
   * Other paths for folders that plugins keep outside of their own ({@link NodeRestores.folders}). Those that the configuration
   * names by an absolute path must be among them; the others follow the data folder.
   */
  readonly folders?: readonly NodeFolder[]
  /** A restore into these folders that the node applies as it starts. */
  readonly restore?: RestorePlan
  /** Ends the node, also during its start. */
  readonly signal?: AbortSignal
}

/** The options of a request to a node on trial. */
export interface TrialRequest extends RequestInit {
  /** The uuid of a user of that node. Without one, the request has no session. */
  readonly as?: string
}

/** A second node in a process of its own. */
export interface TrialNode extends AsyncDisposable {
  /**
   * Like the global `fetch`, with a path of that node. Bodies are streamed.
   *
   * @throws TypeError if the node has ended, or if it has no such user
   */
  fetch(path: string, init?: TrialRequest): Promise<Response>
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<void>
  /** Ends the node, and waits for that. The data folder stays. */
  stop(): Promise<void>
}

/** Starts nodes on trial. */
export interface NodeTrials {
  /**
   * Starts a second node with the configuration of the running one on another data folder, and waits until its API answers. It
   * is a trial start: no client reaches it, no `onServing` runs, and it ends when the running node ends. Its process has a
   * low priority.
   *
   * @throws NodekeepError VALIDATION_ERROR if it would use a folder of the running node; Error with one line if it does not
   *   start; the signal's reason
   */
  start(options: TrialOptions): Promise<TrialNode>
}

/** The kernel's service that starts nodes on trial. */
export const Trials = defineService<NodeTrials>('node-trials', 1)
