import compilers, { type Options, type Serializer } from '@fastify/fast-json-stringify-compiler'
import type { FastifySerializerCompiler } from 'fastify'
import { createAjv } from '../validation/ajv.ts'
import { describeProblems } from '../validation/schema-problems.ts'
import { compiledOnce } from './compiled-once.ts'
import type { SharedSchemas } from './validator.ts'

const serializerOf = compiledOnce<Serializer>()

const createCompiler = compilers()

/**
 * Compiles response schemas, each once for the whole process. A route for GET also serves HEAD with the same schema, and apps that
 * start again have the same schemas. Schemas that may refer to shared ones are compiled for each app.
 *
 * A serializer throws an Error that names the property for which an answer does not fit its schema.
 */
export function createSerializerCompiler(
  shared: SharedSchemas,
  options?: Options,
): FastifySerializerCompiler<object> {
  const compile = createCompiler(shared, options)
  const make = (route: { readonly schema: object }): Serializer => {
    const serialize = compile(route as never)
    return (answer) => {
      try {
        return serialize(answer)
      } catch (error) {
        throw explained(error, answer, route.schema, shared)
      }
    }
  }
  if (Object.keys(shared).length > 0) return make
  return (route) => serializerOf(route.schema, () => make(route))
}

/** A serializer names the value that it cannot write, but not the property. */
function explained(error: unknown, answer: unknown, schema: object, shared: SharedSchemas): unknown {
  try {
    const ajv = createAjv({ coerceTypes: true, useDefaults: false })
    for (const [id, other] of Object.entries(shared)) ajv.addSchema(other, id)
    const validate = ajv.compile(schema)
    validate(JSON.parse(JSON.stringify(answer)))
    const [problem] = describeProblems((validate.errors ?? []) as never)
    if (problem === undefined) return error
    const subject = problem.path.length === 0 ? 'the answer' : `"${problem.path.join('.')}"`
    return new Error(`The answer does not match its schema: ${subject} ${problem.text}`, { cause: error })
  } catch {
    return error
  }
}
