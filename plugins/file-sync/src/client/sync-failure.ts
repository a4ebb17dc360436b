/**
 * Why a step did not happen.
 *
 * - `changed`: the disk or the node is not as it was expected to be. Scan again.
 * - `unavailable`: the node, a mount of it or the disk does not answer, or the disk is full. Try again later.
 * - `full`: the node has no room for it now, by the quota of the user or because its disk is full. Try again when it may have some.
 * - `refused`: this path cannot be synced as it is. The message tells why.
 * - `stop`: nothing can be synced before the person does something. The message tells what.
 */
export type SyncFailureKind = 'changed' | 'unavailable' | 'full' | 'refused' | 'stop'

/** A step that did not happen, by an expected cause. */
export class SyncFailure extends Error {
  override readonly name = 'SyncFailure'
  readonly kind: SyncFailureKind

  constructor(kind: SyncFailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}
