import { clientSignal, type RoutesApp, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import type { FunctionCalls } from '../functions/function-calls.ts'
import type { StoredModules } from '../modules/stored-modules.ts'
import { type ModuleUploads, uploadedModule } from './module-uploads.ts'
import { callAnswer, executeBody, executeFileBody, exportsAnswer, exportsQuery } from './schemas.ts'

/** The parts of the plugin that the routes use. */
interface FunctionRouteServices {
  readonly calls: FunctionCalls
  readonly stored: StoredModules
  readonly uploads: ModuleUploads
  /** Bytes of the largest module. */
  readonly moduleBytes: number
}

const config = { scope: 'wasm' }

/** Registers `POST /execute-file`, `POST /execute` and `GET /exports` (interface, "WebAssembly endpoints"). */
export function functionRoutes(app: RoutesApp, services: FunctionRouteServices): void {
  const { calls, stored, uploads, moduleBytes } = services
  const response = { 200: callAnswer }

  const executeFile = {
    operationId: 'executeFile',
    summary: 'Call a function of a stored module',
    body: executeFileBody,
    response,
  }
  app.post('/execute-file', { schema: executeFile, config }, async (request, reply) => {
    const { filepath, function: name, args = [] } = request.body
    const user = userOf(request)
    const caller = { uuid: user.uuid, signal: clientSignal(reply) }
    const arrived = performance.now()
    const find = () => stored.find(user, filepath, arrived, caller.signal)
    return answer(reply, await calls.call(caller, find, { name, args }))
  })

  const execute = {
    operationId: 'executeModule',
    summary: 'Call a function of a module that comes along',
    body: executeBody,
    response,
  }
  app.post('/execute', { ...uploads, schema: execute, config }, async (request, reply) => {
    const { wasmBytes, function: name, args = [] } = request.body
    const caller = { uuid: userOf(request).uuid, signal: clientSignal(reply) }
    const find = () => uploadedModule(wasmBytes, moduleBytes)
    return answer(reply, await calls.call(caller, find, { name, args }))
  })

  const exports = {
    operationId: 'listExports',
    summary: 'List the functions of a stored module',
    querystring: exportsQuery,
    response: { 200: exportsAnswer },
  }
  app.get('/exports', { schema: exports, config }, async (request, reply) => {
    const user = userOf(request)
    const caller = { uuid: user.uuid, signal: clientSignal(reply) }
    const arrived = performance.now()
    const find = () => stored.find(user, request.query.path, arrived, caller.signal)
    const list = await calls.list(caller, find)
    return {
      exports: list.map(({ name, parameters, results }) => ({
        name,
        parameters: [...parameters],
        results: [...results],
      })),
    }
  })
}

/** Sends JSON that is written already, without the serializer. */
function answer(reply: FastifyReply, result: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(`{"success":true,"result":${result}}`)
}
