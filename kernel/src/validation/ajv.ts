import { Ajv, type ErrorObject, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import { formats } from './formats.ts'
import type { JsonSchema } from './json-schema.ts'

/** An error as Ajv reports it with `verbose`: with the value and the schema around the keyword. */
export type SchemaError = ErrorObject<string, Record<string, unknown>> & {
  readonly parentSchema?: JsonSchema
}

/**
 * Creates the validator that configuration and routes share: it fills in defaults, removes nothing, and knows all
 * formats of JSON Schema and of Nodekeep. It does not check the schemas themselves.
 */
export function createAjv(options: Options): Ajv {
  const ajv = new Ajv({
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    verbose: true,
    validateSchema: false,
    ...options,
  })
  addFormats.default(ajv)
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, validate)
  return ajv
}
