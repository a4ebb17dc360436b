import compilers, { type Options, type Serializer } from '@fastify/fast-json-stringify-compiler'
import type { FastifySerializerCompiler } from 'fastify'
import type { SharedSchemas } from './validator.ts'

/** The serializers of this process, by their schemas, each with the schema's text: a plugin may change its schema. */
const compiled = new WeakMap<object, { readonly text: string; readonly serializer: Serializer }>()

const createCompiler = compilers()

/**
 * Compiles response schemas, each once for the whole process. A route for GET also serves HEAD with the same schema, and apps that
 * start again have the same schemas. Schemas that may refer to shared ones are compiled for each app.
 */
export function createSerializerCompiler(
  shared: SharedSchemas,
  options?: Options,
): FastifySerializerCompiler<object> {
  const compile = createCompiler(shared, options)
  if (Object.keys(shared).length > 0) return compile as FastifySerializerCompiler<object>
  return (route) => {
    const known = compiled.get(route.schema)
    const text = JSON.stringify(route.schema)
    if (known?.text === text) return known.serializer
    const serializer = compile(route as never)
    compiled.set(route.schema, { text, serializer })
    return serializer
  }
}
