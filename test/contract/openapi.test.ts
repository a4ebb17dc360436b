import { fileURLToPath } from 'node:url'
import { createTestNode } from '@nodekeep/kernel/testing'
import { Validator } from '@seriousme/openapi-schema-validator'
import { test } from 'tap'

const defaultBundle = fileURLToPath(new URL('../../config/default.json', import.meta.url))

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

interface Document extends Record<string, unknown> {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

test('the document of the default bundle describes every body and every answer', async (t) => {
  const node = await createTestNode({ config: { extends: defaultBundle } })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const document = (await (await user.fetch('/openapi.json')).json()) as Document
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { operationId, summary, responses }] of Object.entries(methods)) {
      const name = `${method} ${path}`
      t.match(operationId, /^[a-z][A-Za-z]+$/, `${name} has an id of its own that is valid in a program`)
      t.notMatch(operationId, /^(get|post|put|patch|delete)(Api|Auth|V1)/, `${name}: the id has a meaning`)
      t.type(summary, 'string', `${name} has a summary`)
      t.ok(responses[200]?.content, `${name} has a schema of its answer`)
    }
  }
  const { paths } = document
  t.same(Object.keys(paths['/write']?.post?.requestBody?.content ?? {}), ['multipart/form-data'])
  t.same(Object.keys(paths['/write']?.put?.requestBody?.content ?? {}), ['application/octet-stream'])
  t.ok(paths['/read']?.get?.responses[206])
  const changes = paths['/api/files/changes']?.get?.responses[200]
  t.same(Object.keys(changes?.content ?? {}), ['application/json', 'text/event-stream'])
  const chat = paths['/v1/chat/completions']?.post?.responses[200]
  t.same(Object.keys(chat?.content ?? {}), ['application/json', 'text/event-stream'])
})
