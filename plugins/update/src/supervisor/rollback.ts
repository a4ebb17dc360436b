import { type ReleaseFolder, readManifest } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import {
  type Change,
  changeOf,
  readHistory,
  rollbackHours,
  rollbackUntil,
  type SupervisorState,
} from './supervisor-state.ts'

const noFormer = 'There is no former release to go back to.'

const unstoredReason = 'The reason could not be stored. The log of the supervisor has it.'

/** Goes back to the former release, with all data as it is. */
export class Rollback {
  readonly #folder: ReleaseFolder
  readonly #state: SupervisorState
  readonly #log: SupervisorLog

  constructor(folder: ReleaseFolder, state: SupervisorState, log: SupervisorLog) {
    this.#folder = folder
    this.#state = state
    this.#log = log
  }

  /** Returns the reason why the node cannot go back, in one sentence for people; `null` if it can. */
  whyNoRollback(): string | null {
    const { change, admission } = this.#state
    if (this.#folder.target('former') === null) return noFormer
    if (change?.step === 'admitting') return change.closedBy
    if (change !== null) return 'The release changes already.'
    if (admission === null) return noFormer
    if (rollbackUntil(this.#state.ranMs) === null)
      return `The way back to version ${admission.former} was open for ${rollbackHours} hours.`
    return admission.closedBy
  }

  /**
   * Stores that the node goes back, if the disk takes it. From now on nothing but a disk that fails prevents it. A full one does not.
   *
   * @throws Error if no rollback is possible, with the reason
   */
  begin(reason: string): Change {
    const problem = this.whyNoRollback()
    const toPath = this.#folder.target('former')
    if (problem !== null || toPath === null) throw new Error(problem ?? noFormer)
    const fromPath = this.#folder.inUse()
    const [from, to] = [readManifest(fromPath).version, readManifest(toPath).version]
    const change = changeOf('going back', { from, fromPath, to, toPath }, reason)
    this.#state.enterInAnyCase(change)
    return change
  }

  /**
   * Goes back, while no node runs.
   *
   * @returns the reason why no rollback is possible; `null` if the former release is the one in use now
   */
  go(reason: string): string | null {
    const problem = this.whyNoRollback()
    if (problem === null) this.complete(this.begin(reason))
    return problem
  }

  /** Makes the former release the one in use. No node runs meanwhile. */
  complete(change: Change): void {
    this.#folder.restoreFormer()
    this.#end(change)
  }

  /**
   * Ends a rollback that could not be stored before the supervisor was killed. The links tell of it: from the admission of a release on,
   * there is a link to the former one, until it takes the place of the other link.
   */
  completeUnstored(): void {
    const { change, admission } = this.#state
    const installed = change === null ? admission : null
    const left = change?.step === 'admitting' ? { version: change.to, former: change.from } : installed
    if (left === null || this.#folder.target('former') !== null) return
    if (readManifest(this.#folder.inUse()).version !== left.former) return
    const way = { from: left.version, to: left.former }
    // The history is stored before the state.
    const last = readHistory(this.#folder.path).at(-1)
    const isStored = last?.result === 'went back' && last.from === way.from && last.to === way.to
    const { startedAt, reason } = isStored
      ? last
      : { startedAt: new Date().toISOString(), reason: unstoredReason }
    this.#end({ ...way, startedAt, reason, closedBy: null, failedOnTrial: false })
  }

  #end(change: Parameters<SupervisorState['end']>[0] & Pick<Change, 'reason'>): void {
    this.#log.warn(
      `Version ${change.to} runs again, with all data. Version ${change.from} was left: ${change.reason}`,
    )
    this.#state.end(change, 'went back', change.reason)
  }
}
