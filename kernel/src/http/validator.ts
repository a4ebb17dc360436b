import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'

/**
 * Compiles request schemas. Bodies are taken literally; parameters, queries and headers are texts by nature, so
 * numbers and booleans are read from them. Unknown fields are left to the schema: nothing is removed silently.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<object> {
  let literal: Ajv | undefined
  let coercing: Ajv | undefined
  return ({ schema, httpPart }) => {
    if (httpPart === 'body') {
      literal ??= createAjv(false)
      return literal.compile(schema)
    }
    coercing ??= createAjv('array')
    return coercing.compile(schema)
  }
}

function createAjv(coerceTypes: false | 'array'): Ajv {
  const ajv = new Ajv({ coerceTypes, useDefaults: true, removeAdditional: false, strict: false })
  formats.default(ajv)
  return ajv
}
