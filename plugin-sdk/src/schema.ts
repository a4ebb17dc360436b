import { type TString, type TStringOptions, Type } from 'typebox'

export { type Static, Type } from 'typebox'

/** The JSON Schema keyword that marks a value as secret. */
export const secretKeyword = 'x-nodekeep-secret'

/**
 * A secret configuration value: it is printed as `[secret]` and removed from every log line.
 *
 * In a configuration file, write it as `"${NAME}"`, which takes the value from the environment.
 */
export function Secret(options: TStringOptions = {}): TString {
  return Type.String({ ...options, writeOnly: true, [secretKeyword]: true })
}
