import { createTestNode } from '@nodekeep/kernel/testing'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Test, test } from 'tap'
import { configurations } from './fixtures/all-plugins.ts'

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

interface Document extends Record<string, unknown> {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

async function documentOf(t: Test, config: Readonly<Record<string, unknown>>): Promise<Document> {
  const node = await createTestNode({ config })
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
  return document
}

test('the document of a gateway describes every body and every answer', async (t) => {
  const { paths } = await documentOf(t, configurations.gateway)
  t.ok(paths['/api/gateway/register']?.post?.requestBody)
})

test('the document of a node describes every body and every answer', async (t) => {
  const { paths } = await documentOf(t, configurations.node)
  t.same(Object.keys(paths['/write']?.post?.requestBody?.content ?? {}), ['multipart/form-data'])
  t.same(Object.keys(paths['/write']?.put?.requestBody?.content ?? {}), ['application/octet-stream'])
  t.same(Object.keys(paths['/api/files/archive']?.post?.requestBody?.content ?? {}), [
    'application/json',
    'application/x-www-form-urlencoded',
  ])
  t.ok(paths['/read']?.get?.responses[206])
  const changes = paths['/api/files/changes']?.get?.responses[200]
  t.same(Object.keys(changes?.content ?? {}), ['application/json', 'text/event-stream'])
  const chat = paths['/v1/chat/completions']?.post?.responses[200]
  t.same(Object.keys(chat?.content ?? {}), ['application/json', 'text/event-stream'])
})
