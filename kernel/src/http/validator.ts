import { Ajv, type ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { createAjv } from '../validation/ajv.ts'

/** Schemas that others refer to, by their `$id`: those that were given to `addSchema`. */
export type SharedSchemas = Readonly<Record<string, object>>

/**
 * Compiles request schemas. Bodies are taken literally. Parameters, queries and headers are text by nature, so numbers
 * and booleans are read from them. Nothing is removed silently: the schema decides about unknown fields.
 */
export function createValidatorCompiler(shared: SharedSchemas = {}): FastifySchemaCompiler<object> {
  let literal: Ajv | undefined
  let coercing: Ajv | undefined
  return ({ schema, httpPart }) => {
    checkSchema(schema)
    if (httpPart === 'body') {
      literal ??= withShared(createAjv({ coerceTypes: false }), shared)
      return compile(literal, schema)
    }
    coercing ??= withShared(createAjv({ coerceTypes: 'array' }), shared)
    return compile(coercing, schema)
  }
}

function withShared(ajv: Ajv, shared: SharedSchemas): Ajv {
  for (const [id, schema] of Object.entries(shared)) {
    checkSchema(schema)
    ajv.addSchema(schema, id)
  }
  return ajv
}

/** Ajv attaches the refused value to each error. It is hidden here, so that a log of the error does not contain it. */
function compile(ajv: Ajv, schema: object): ReturnType<FastifySchemaCompiler<object>> {
  const check = ajv.compile(schema)
  const validate = (value: unknown): boolean => {
    const valid = check(value)
    validate.errors = check.errors ?? null
    for (const error of validate.errors ?? []) Object.defineProperty(error, 'data', { enumerable: false })
    return valid
  }
  validate.errors = null as ErrorObject[] | null
  return validate
}

let checker: Ajv | undefined

/**
 * Checks a schema itself. Compiling the meta-schema takes longer than compiling a plugin's schemas, so one instance
 * serves the whole process.
 *
 * @throws Error that says what is wrong with the schema
 */
function checkSchema(schema: object): void {
  checker ??= new Ajv({ strict: false, code: { optimize: false } })
  checker.validateSchema(schema, true)
}
