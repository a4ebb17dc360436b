/**
 * A snapshot whose long work is done, while changes went on. Several are taken at one moment by {@link haltTogether}.
 *
 * @example
 * await using halted = await prepared.halt()
 * const snapshot = await halted.fix()
 */
export interface PreparedSnapshot<T> {
  /** Brings changes to a halt, until the result is disposed. Call it once. */
  halt(): Promise<HaltedSnapshot<T>>
  /**
   * Gives the snapshot up if its state was not fixed; otherwise, and a second time, it does nothing. Call it always: after the halt and
   * its disposal have ended, or when they have taken longer than the time limit of the caller, who then disposes the late halt at once.
   */
  release(): Promise<void>
}

/** A part of a node whose changes stand still. Its disposal lets them go on; a second one does nothing. */
export interface HaltedSnapshot<T> extends AsyncDisposable {
  /** Takes the snapshot, which shows the state of the halt, in a short step. Call it at most once. */
  fix(): Promise<T>
}
