import { type ReleaseFolder, readManifest } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import { type Change, changeOf, type SupervisorState, wayBackUntil } from './supervisor-state.ts'

const noFormer = 'There is no former release to go back to.'

/** The way to the former release, with all data as it is. */
export class WayBack {
  readonly #folder: ReleaseFolder
  readonly #state: SupervisorState
  readonly #log: SupervisorLog

  constructor(folder: ReleaseFolder, state: SupervisorState, log: SupervisorLog) {
    this.#folder = folder
    this.#state = state
    this.#log = log
  }

  /** Returns the reason why the node cannot go back, in one sentence for people; `null` if it can. */
  closed(): string | null {
    const { change, admission } = this.#state
    if (this.#folder.target('former') === null) return noFormer
    if (change?.step === 'admitting') return change.closedBy
    if (change !== null) return 'The release changes already.'
    if (admission === null) return noFormer
    if (wayBackUntil(new Date(admission.at)) === null)
      return `The way back to version ${admission.former} was open for 72 hours.`
    return admission.closedBy
  }

  /**
   * Stores that the node goes back, if the disk takes it. From now on nothing but a disk that fails prevents it. A full one does not.
   *
   * @throws Error if the way is closed, with the reason
   */
  begin(reason: string): Change {
    const closed = this.closed()
    const toPath = this.#folder.target('former')
    if (closed !== null || toPath === null) throw new Error(closed ?? noFormer)
    const fromPath = this.#folder.inUse()
    const [from, to] = [readManifest(fromPath).version, readManifest(toPath).version]
    const change = changeOf('going back', { from, fromPath, to, toPath }, reason)
    this.#state.enterInAnyCase(change)
    return change
  }

  /**
   * Goes back, while no node runs.
   *
   * @returns the reason why the way is closed; `null` if the former release is the one in use now
   */
  go(reason: string): string | null {
    const closed = this.closed()
    if (closed === null) this.complete(this.begin(reason))
    return closed
  }

  /** Makes the former release the one in use. No node runs meanwhile. */
  complete(change: Change): void {
    this.#folder.restoreFormer()
    this.#log.warn(
      `Version ${change.to} runs again, with all data. Version ${change.from} was left: ${change.reason}`,
    )
    this.#state.end(change, 'went back', change.reason)
  }
}
