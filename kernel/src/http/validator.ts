import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'

/** Schemas that others refer to, by their `$id`: what `addSchema` was given. */
export type SharedSchemas = Readonly<Record<string, object>>

/**
 * Compiles request schemas. Bodies are taken literally; parameters, queries and headers are texts by nature, so
 * numbers and booleans are read from them. Unknown fields are left to the schema: nothing is removed silently.
 */
export function createValidatorCompiler(shared: SharedSchemas = {}): FastifySchemaCompiler<object> {
  let literal: Ajv | undefined
  let coercing: Ajv | undefined
  return ({ schema, httpPart }) => {
    checkSchema(schema)
    if (httpPart === 'body') {
      literal ??= createAjv(false, shared)
      return literal.compile(schema)
    }
    coercing ??= createAjv('array', shared)
    return coercing.compile(schema)
  }
}

function createAjv(coerceTypes: false | 'array', shared: SharedSchemas): Ajv {
  const ajv = new Ajv({
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    // `checkSchema` does it for all instances.
    validateSchema: false,
  })
  formats.default(ajv)
  for (const [id, schema] of Object.entries(shared)) {
    checkSchema(schema)
    ajv.addSchema(schema, id)
  }
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
