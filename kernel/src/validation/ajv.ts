import { checkKeyword } from '@nodekeep/plugin-sdk/host'
import { Ajv, type ErrorObject, type Options, type SchemaValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { formats } from './formats.ts'
import type { JsonSchema } from './json-schema.ts'
import { suggest } from './suggestion.ts'

/** An error as Ajv reports it with `verbose`: with the value and the schema around the keyword. */
export type SchemaError = ErrorObject<string, Record<string, unknown>> & {
  readonly parentSchema?: JsonSchema
}

/**
 * Creates the validator that configuration and routes share: it fills in defaults, removes nothing, and knows all
 * formats of JSON Schema and of Nodekeep, and the checks of plugins. It does not check the schemas themselves, except that it
 * refuses to compile one with an unknown format: nothing would be checked there.
 */
export function createAjv(options: Options): Ajv {
  const ajv: Ajv = new Ajv({
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    verbose: true,
    validateSchema: false,
    logger: { log() {}, error() {}, warn: (message: unknown) => refuseUnknownFormat(String(message), ajv) },
    ...options,
  })
  addFormats.default(ajv)
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, validate)
  ajv.addKeyword({ keyword: checkKeyword, type: 'string', validate: validateCheck })
  return ajv
}

/** Validates the keyword of `Checked` of the SDK. */
const validateCheck: SchemaValidateFunction = (problemOf: (text: string) => string | null, text: string) => {
  const message = problemOf(text)
  if (message === null) return true
  validateCheck.errors = [{ keyword: checkKeyword, params: {}, message }]
  return false
}

/** Without its strict mode, which also refuses keywords that are fine here, Ajv ignores a format with a warning. */
function refuseUnknownFormat(warning: string, { formats }: Ajv): void {
  const name = /^unknown format "(.*)" ignored/.exec(warning)?.[1]
  if (name === undefined) return
  throw new Error(`The format "${name}" does not exist. ${suggest(name, Object.keys(formats))}`)
}
