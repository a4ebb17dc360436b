import type { ReleaseRequest } from '../supervisor/messages.ts'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

/** The supervisor that runs this node, as the node reaches it. */
export interface SupervisorLink {
  /** The absolute path of the folder for releases. */
  readonly releases: string
  /** The arguments that select the configuration, for commands of another release. */
  readonly args: readonly string[]
  /**
   * Asks for another release.
   *
   * @returns resolves when the change has begun
   * @throws NodekeepError CONFLICT with the reason for a refusal
   */
  ask(request: WithoutId<ReleaseRequest>): Promise<void>
}
