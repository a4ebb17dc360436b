import { messageOf } from '@nodekeep/plugin-sdk'
import { placeIn } from '../faults/fault-context.ts'

/** The step in the life of a plugin at which it failed. */
export type PluginPhase =
  | 'locate'
  | 'manifest'
  | 'sdk'
  | 'dependency'
  | 'import'
  | 'shape'
  | 'configuration'
  | 'setup'
  | 'routes'
  | 'publish'
  | 'start'
  | 'serving'
  | 'run'
  | 'stop'

/** The reason why a plugin failed: the phase for programs, the message for people, the cause for the log. */
export class PluginFailure extends Error {
  readonly phase: PluginPhase

  constructor(phase: PluginPhase, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PluginFailure'
    this.phase = phase
  }

  /**
   * Wraps anything that a plugin threw, with the phase. A PluginFailure is returned unchanged.
   *
   * @param folder the folder of the plugin's package. The message names the file and the line in it
   */
  static from(phase: PluginPhase, thrown: unknown, folder = ''): PluginFailure {
    if (thrown instanceof PluginFailure) return thrown
    const message = thrown === undefined || thrown === null ? `It threw ${thrown} instead of an error.` : null
    return new PluginFailure(phase, (message ?? messageOf(thrown)) + placeIn(folder, thrown), thrown)
  }
}

/** Writes a duration for people: `30 s`, `250 ms`. */
export function duration(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}
