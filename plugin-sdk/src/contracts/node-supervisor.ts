import { defineService } from '../service.ts'
import type { ReleaseRequest } from '../supervision/messages.ts'

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

/** The facts that a change of the release needs. */
export interface NodeSupervisor {
  /** The connection to the supervisor; `null` if none runs the node. */
  readonly link: SupervisorLink | null
  /** The absolute paths of the files that the configuration is in. */
  readonly configurationFiles: readonly string[]
}

/** The kernel's service that reaches the program which runs the node. */
export const Supervisor = defineService<NodeSupervisor>('node-supervisor', 1)
