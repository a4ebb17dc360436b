import type { RoutesApp } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { moduleFromBase64 } from '../modules/base64-module.ts'
import { callerOf } from './caller.ts'
import { connectionSignal } from './connection-signal.ts'
import type { WasmRoutesParts } from './routes.ts'
import { callAnswer, executeBody, executeFileBody } from './schemas.ts'

/** Registers `POST /execute-file` and `POST /execute` (interface, "WebAssembly endpoints"). */
export function executeRoutes(app: RoutesApp, parts: WasmRoutesParts): void {
  const { queue, stored, calls, uploads, moduleBytes } = parts
  const config = { scope: 'wasm' }
  const response = { 200: callAnswer }

  const executeFile = { summary: 'Call a function of a stored module', body: executeFileBody, response }
  app.post('/execute-file', { schema: executeFile, config }, async (request, reply) => {
    const { filepath, function: name, args = [] } = request.body
    const user = callerOf(request)
    const signal = connectionSignal(request)
    const result = await queue.run(user.uuid, signal, async () =>
      calls.call(await stored.find(user, filepath, signal), { name, args, caller: user.uuid }, signal),
    )
    return answer(reply, result)
  })

  const execute = { summary: 'Call a function of a module that comes along', body: executeBody, response }
  app.post('/execute', { ...uploads, schema: execute, config }, async (request, reply) => {
    const { wasmBytes, function: name, args = [] } = request.body
    const { uuid: caller } = callerOf(request)
    const signal = connectionSignal(request)
    const result = await queue.run(caller, signal, async () =>
      calls.call(moduleFromBase64(wasmBytes, moduleBytes), { name, args, caller }, signal),
    )
    return answer(reply, result)
  })
}

/** Sends text past the serializer. */
function answer(reply: FastifyReply, result: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(`{"success":true,"result":${result}}`)
}
