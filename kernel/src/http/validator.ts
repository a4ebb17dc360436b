import { Ajv } from 'ajv'
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
      return literal.compile(schema)
    }
    coercing ??= withShared(createAjv({ coerceTypes: 'array' }), shared)
    return coercing.compile(schema)
  }
}

function withShared(ajv: Ajv, shared: SharedSchemas): Ajv {
  for (const [id, schema] of Object.entries(shared)) {
    checkSchema(schema)
    ajv.addSchema(schema, id)
  }
  return ajv
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
