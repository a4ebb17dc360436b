import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { closeSchema } from './closed-schema.ts'
import { formats } from './formats.ts'
import type { JsonSchema } from './schema-walk.ts'

/** An error as Ajv reports it, with the value and the schema around the keyword. */
export type SchemaError = ErrorObject<string, Record<string, unknown>> & {
  readonly parentSchema?: JsonSchema
}

/** Validates values against schemas, each compiled once. */
export interface Validator {
  /**
   * Fills a value with the schema's defaults, in place, and returns what is wrong with it.
   *
   * @throws Error when the schema itself is wrong
   */
  validate(schema: JsonSchema, value: unknown): readonly SchemaError[]
}

let loading: Promise<Validator> | undefined

/** The validator of the process. Ajv is loaded at the first call. */
export function loadValidator(): Promise<Validator> {
  loading ??= createValidator()
  return loading
}

async function createValidator(): Promise<Validator> {
  const [{ Ajv }, { default: addFormats }] = await Promise.all([import('ajv'), import('ajv-formats')])
  const ajv: Ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    strict: false,
    verbose: true,
    logger: false,
    addUsedSchema: false,
    // Checking schemas and optimizing the code for them takes longer than validating one configuration.
    validateSchema: false,
    code: { optimize: false },
  })
  addFormats.default(ajv)
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, validate)
  const compiled = new WeakMap<JsonSchema, ValidateFunction>()
  return {
    validate(schema, value) {
      const check = compiled.get(schema) ?? ajv.compile(closeSchema(schema))
      compiled.set(schema, check)
      return check(value) ? [] : ((check.errors ?? []) as SchemaError[])
    },
  }
}
