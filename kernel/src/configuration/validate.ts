import type { ValidateFunction } from 'ajv'
import { createAjv, type SchemaError } from '../validation/ajv.ts'
import type { JsonSchema } from '../validation/json-schema.ts'
import { closeSchema } from './closed-schema.ts'

const ajv = createAjv({
  allErrors: true,
  addUsedSchema: false,
  // Optimizing the code of a schema takes longer than validating one configuration with it.
  code: { optimize: false },
})

const compiled = new WeakMap<JsonSchema, ValidateFunction>()

/**
 * Fills a value with the schema's defaults, in place, and returns all that is wrong with it. Unknown keys are errors.
 *
 * @throws Error when the schema itself is wrong
 */
export function validate(schema: JsonSchema, value: unknown): readonly SchemaError[] {
  const check = compiled.get(schema) ?? ajv.compile(closeSchema(schema))
  compiled.set(schema, check)
  return check(value) ? [] : ((check.errors ?? []) as SchemaError[])
}
