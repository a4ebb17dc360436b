import { messageOf } from '../errors/thrown.ts'

/** Where in its life a plugin failed. */
export type PluginPhase =
  | 'locate'
  | 'manifest'
  | 'sdk'
  | 'dependency'
  | 'import'
  | 'shape'
  | 'order'
  | 'configuration'
  | 'setup'
  | 'routes'
  | 'publish'
  | 'start'
  | 'run'
  | 'stop'

/** Why a plugin is not what it should be: the phase for programs, the message for people, the cause for the log. */
export class PluginFailure extends Error {
  readonly phase: PluginPhase

  constructor(phase: PluginPhase, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PluginFailure'
    this.phase = phase
  }

  /** Takes whatever a plugin threw. Failures pass unchanged; other values get the phase and their own message. */
  static from(phase: PluginPhase, thrown: unknown): PluginFailure {
    if (thrown instanceof PluginFailure) return thrown
    return new PluginFailure(phase, messageOf(thrown), thrown)
  }
}
