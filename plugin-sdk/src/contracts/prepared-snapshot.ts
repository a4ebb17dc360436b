/**
 * A snapshot whose long work is done and that waits for its moment. Several are taken at one moment by {@link takeTogether}.
 */
export interface PreparedSnapshot<T> {
  /**
   * Takes the snapshot. It brings changes to a halt, calls `atMoment` once, and lets changes go on when that has resolved. The
   * snapshot shows the state at the call. Call it once.
   *
   * @param atMoment if it rejects, no snapshot is taken, and `take` rejects with the same error
   */
  take(atMoment: () => Promise<void>): Promise<T>
  /** Gives the snapshot up if it was not taken. Call it always; after `take`, and a second time, it does nothing. */
  release(): Promise<void>
}
