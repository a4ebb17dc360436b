import { type TString, type TStringOptions, Type } from 'typebox'

export { type Static, Type } from 'typebox'

/** The JSON Schema keyword that marks a value as secret. */
export const secretKeyword = 'x-nodekeep-secret'

/**
 * A configuration value that must not be seen: printed as `[secret]`, removed from every log line.
 *
 * In a configuration file it should stand as `"${NAME}"`, which takes the value from the environment.
 */
export function Secret(options: TStringOptions = {}): TString {
  return Type.String({ ...options, writeOnly: true, [secretKeyword]: true })
}
