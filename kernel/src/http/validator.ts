import { Ajv } from 'ajv'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { createAjv, type SchemaError } from '../validation/ajv.ts'
import { describeProblems } from '../validation/schema-problems.ts'
import { compiledOnce } from './compiled-once.ts'

/** Schemas that others refer to, by their `$id`: those that were given to `addSchema`. */
export type SharedSchemas = Readonly<Record<string, object>>

type Validate = ReturnType<FastifySchemaCompiler<object>>

const literalOf = compiledOnce<Validate>()
const coercingOf = compiledOnce<Validate>()

/**
 * Compiles request schemas. Those that may refer to shared ones are compiled for each app, all others once. Bodies are taken literally. Parameters, queries and headers are text by nature, so numbers
 * and booleans are read from them. Nothing is removed silently: the schema decides about unknown fields.
 *
 * The compiler throws an Error that says in words what is wrong with a schema.
 */
export function createValidatorCompiler(shared: SharedSchemas = {}): FastifySchemaCompiler<object> {
  let literal: Ajv | undefined
  let coercing: Ajv | undefined
  const compileFor = (schema: object, httpPart: string) => {
    checkSchema(schema, httpPart)
    if (httpPart === 'body') {
      literal ??= withShared(createAjv({ coerceTypes: false }), shared)
      return compile(literal, schema, httpPart)
    }
    coercing ??= withShared(createAjv({ coerceTypes: 'array' }), shared)
    return compile(coercing, schema, httpPart)
  }
  const isAlone = Object.keys(shared).length === 0
  return ({ schema, httpPart = 'schema' }) => {
    const make = () => compileFor(schema, httpPart)
    if (!isAlone) return make()
    return httpPart === 'body' ? literalOf(schema, make) : coercingOf(schema, make)
  }
}

function withShared(ajv: Ajv, shared: SharedSchemas): Ajv {
  for (const [id, schema] of Object.entries(shared)) {
    checkSchema(schema, id)
    ajv.addSchema(schema, id)
  }
  return ajv
}

function compile(ajv: Ajv, schema: object, name: string): Validate {
  try {
    return ajv.compile(schema)
  } catch (error) {
    if (!(error instanceof Ajv.MissingRefError)) throw error
    throw new Error(
      `"${name}" refers to "${error.missingRef}", and there is no such schema. Define it, or add it with app.addSchema().`,
    )
  }
}

let checker: Ajv | undefined

/**
 * Checks a schema itself. Compiling the meta-schema takes longer than compiling a plugin's schemas, so one instance
 * serves the whole process.
 *
 * @param name stands for the schema in the message
 */
function checkSchema(schema: object, name: string): void {
  checker ??= new Ajv({ strict: false, verbose: true, code: { optimize: false } })
  if (checker.validateSchema(schema) === true) return
  // The first error is about the first alternative of the meta-schema, which is the usual one.
  const [error] = (checker.errors ?? []) as SchemaError[]
  const [problem] = describeProblems(error === undefined ? [] : [error])
  const key = [name, ...(problem?.path ?? [])].join('.')
  throw new Error(`"${key}" ${problem?.text ?? 'is not a JSON Schema.'}`)
}

/**
 * Makes the error of a request that its schema refuses. Ajv attaches the refused value to each of its errors. It is
 * hidden here, so that a log of the error does not contain it. The error's message for clients is made elsewhere.
 */
export const formatSchemaErrors: NonNullable<FastifyServerOptions['schemaErrorFormatter']> = (
  errors,
  part,
) => {
  for (const error of errors) Object.defineProperty(error, 'data', { enumerable: false })
  return new Error(`The ${part} of the request does not match its schema.`)
}
