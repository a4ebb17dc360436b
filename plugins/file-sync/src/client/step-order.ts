import { DeletionGuard, type DeletionLimits } from './deletion-guard.ts'
import type { FailedSteps } from './failed-steps.ts'
import type { Clock } from './ports.ts'
import type { Step } from './reconcile.ts'
import { isRemoval, type Replicas } from './replicas.ts'
import type { Scans } from './scans.ts'
import type { SyncState } from './sync-state.ts'

/**
 * Milliseconds for which a file must be missing here before it is removed from the node. Programs that save a file may remove it for
 * a short time, and a file that moved may be missed at its former path before it is seen at the new one.
 */
const removalPauseMs = 1000

interface StepOrderServices {
  readonly state: SyncState
  readonly replicas: Replicas
  readonly localScans: Scans
  readonly remoteScans: Scans
  readonly failed: FailedSteps
  readonly clock: Clock
  /** Calls a function after a pause. */
  readonly after: (ms: number, change: () => void) => void
}

interface NextStep {
  readonly path: string
  readonly step: Step
}

/** Decides which step is made next: none about which a running scan may say more, and removals last. */
export class StepOrder {
  readonly #services: StepOrderServices
  readonly #guard: DeletionGuard
  #heldDeletions: number | null = null

  constructor(services: StepOrderServices, deletionLimits: DeletionLimits) {
    this.#services = services
    this.#guard = new DeletionGuard(deletionLimits)
  }

  /** Deletions that wait for the person, because they are many. `null` if there are none. */
  get heldDeletions(): number | null {
    return this.#heldDeletions
  }

  /** Lets the deletions happen that wait for the person. */
  confirmDeletions(): void {
    this.#guard.confirm(this.#heldDeletions ?? 0)
  }

  /** Returns the step to make now, `null` if there is none. It is no longer among the dirty paths and the removals. */
  next(): NextStep | null {
    return this.#nextChange() ?? (this.#isScanning ? null : this.#nextRemoval())
  }

  get #isScanning(): boolean {
    const { localScans, remoteScans } = this.#services
    return localScans.isRunning || remoteScans.isRunning
  }

  #nextChange(): NextStep | null {
    const { replicas, failed } = this.#services
    for (const path of replicas.dirty) {
      if (replicas.isBusy(path) || this.#isUnseen(path)) continue
      const step = replicas.stepFor(path)
      if (this.#waitsForScans(path, step)) return null
      replicas.dirty.delete(path)
      replicas.removals.delete(path)
      if (step.do === 'nothing') {
        // The path may be left alone now, for another reason.
        if (failed.forget(path)) replicas.stepFor(path)
        continue
      }
      if (!isRemoval(step)) return { path, step }
      this.#addRemoval(path, step)
    }
    return !this.#isScanning && replicas.wake() ? this.#nextChange() : null
  }

  /**
   * Whether scans must end before a step. An upload may be the move of a file that a scan of the disk finds gone, and a download that
   * of one that the node has moved. A client sees its own changes, so neither waits for scans of the side that it changes.
   */
  #waitsForScans(path: string, { do: what }: Step): boolean {
    if (!this.#isScanning) return false
    const { localScans, remoteScans } = this.#services
    if (localScans.meets(path) || remoteScans.meets(path)) return true
    if (what === 'upload' || what === 'makeRemoteFolder') return localScans.isRunning
    if (what === 'download' || what === 'makeLocalFolder') return remoteScans.isRunning
    return true
  }

  /** Whether a path waits for a scan that failed. What is known of it may be old. */
  #isUnseen(path: string): boolean {
    const { localScans, remoteScans } = this.#services
    return localScans.awaits(path) || remoteScans.awaits(path)
  }

  #addRemoval(path: string, { do: what }: Step): void {
    const { state, replicas, after } = this.#services
    const isFile = state.common.get(path)?.type === 'file'
    const removal = { isFile, isDue: what !== 'removeRemote' || !isFile }
    replicas.removals.set(path, removal)
    if (removal.isDue) return
    after(removalPauseMs, () => {
      removal.isDue = true
    })
  }

  /** Removals come last: what is missing at one path may have moved to another. */
  #nextRemoval(): NextStep | null {
    const { replicas, clock } = this.#services
    const { removals } = replicas
    this.#heldDeletions = null
    for (const path of replicas.dirty) if (!this.#isUnseen(path)) return null
    for (const [path, { isFile, isDue }] of removals.entries()) {
      if (replicas.isBusy(path) || !isDue || this.#isUnseen(path)) continue
      const step = replicas.stepFor(path)
      if (!isRemoval(step)) {
        removals.delete(path)
        if (step.do !== 'nothing') return { path, step }
      } else if (isFile && !this.#allowsRemovals()) {
        return null
      } else {
        removals.delete(path)
        if (isFile) this.#guard.count(clock.elapsed())
        return { path, step }
      }
    }
    return null
  }

  #allowsRemovals(): boolean {
    const { state, replicas, clock } = this.#services
    const { files: planned } = replicas.removals
    const isAllowed = this.#guard.allows(planned, state.files, clock.elapsed())
    if (!isAllowed) this.#heldDeletions = planned
    return isAllowed
  }
}
