import fastJson from 'fast-json-stringify'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { createValidatorCompiler } from './validator.ts'

type Check = ReturnType<FastifySchemaCompiler<object>>

/**
 * Has an instance compile each schema with its first use. Compiling those of all routes at once takes a tenth of a
 * start, and most of them are not needed before the next one. A broken schema is noticed late too, so this is for
 * routes that have tests here.
 */
export function compileLate(instance: FastifyInstance): void {
  const compile = createValidatorCompiler()
  instance.setValidatorCompiler<object>((route) => {
    let check: Check | undefined
    const late: Check = (data: unknown) => {
      check ??= compile(route)
      const valid = check(data)
      // This is where Fastify looks for them.
      late.errors = check.errors ?? null
      return valid
    }
    return late
  })
  instance.setSerializerCompiler<object>(({ schema }) => {
    let serialize: ((data: unknown) => string) | undefined
    return (data) => {
      serialize ??= fastJson(schema)
      return serialize(data)
    }
  })
}
