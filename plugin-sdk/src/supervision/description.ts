/** The facts that a supervisor asks the command line of its release for (`nodekeep supervise --describe`). It reads no configuration. */
export interface SupervisorDescription {
  readonly data: string
  readonly host: string
  readonly port: number
  /** The folder for releases. */
  readonly releases: string
  readonly trialSeconds: number
  readonly answerSeconds: number
  readonly logFormat: string
  /** The release that this command belongs to, or that was named; `null` without one. */
  readonly release: string | null
  /** The arguments that select the configuration. */
  readonly args: readonly string[]
  /** The reason to go back first; `null` to stay. */
  readonly back: string | null
  readonly again: boolean
  readonly withoutWayBack: boolean
}
