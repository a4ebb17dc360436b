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
    checkSchema(schema)
    if (httpPart === 'body') {
      literal ??= createAjv(false)
      return literal.compile(schema)
    }
    coercing ??= createAjv('array')
    return coercing.compile(schema)
  }
}

function createAjv(coerceTypes: false | 'array'): Ajv {
  const ajv = new Ajv({
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    // `checkSchema` does it for all instances.
    validateSchema: false,
  })
  formats.default(ajv)
  return ajv
}

let checker: Ajv | undefined

/**
 * Compiling what schemas themselves have to conform to takes longer than compiling a plugin's schemas, so that is done
 * once in a process.
 *
 * @throws Error that says what is wrong with the schema
 */
function checkSchema(schema: object): void {
  checker ??= new Ajv({ strict: false, code: { optimize: false } })
  checker.validateSchema(schema, true)
}
