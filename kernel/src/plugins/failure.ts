import { inspect } from 'node:util'

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

/** The message of anything that can be thrown. It never throws itself. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name)
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message)
    return typeof thrown === 'object' || typeof thrown === 'function' ? inspect(thrown) : String(thrown)
  } catch {
    return 'something was thrown that does not say what it is'
  }
}

/** Where anything that was thrown was made; empty when it does not say. It never throws itself. */
export function stackOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.stack) : ''
  } catch {
    return ''
  }
}
