import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { root } from '../run/command.ts'

/** The source of `@nodekeep/plugin-sdk/node-answers`. */
export const nodeAnswersFile = join(root, 'plugin-sdk/src/node-answers.ts')

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JSONSchema }>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const description =
  'The JSON answers of a node with the default bundle, by method and path, such as `GET /stat`. Times are in the form of ISO 8601.'

/** Generates the types of the answers of a node with the default bundle, from its OpenAPI document. */
export async function generateNodeAnswers(): Promise<string> {
  const { paths } = await describedNode()
  const answers = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) => {
      const schema = responses[200]?.content?.['application/json']?.schema
      return schema === undefined ? [] : [[`${method.toUpperCase()} ${path}`, schema] as const]
    }),
  )
  answers.sort(([a], [b]) => (a < b ? -1 : 1))
  const all: JSONSchema = {
    description,
    type: 'object',
    properties: Object.fromEntries(answers),
    required: answers.map(([route]) => route),
  }
  return compile(all, 'NodeAnswers', {
    additionalProperties: false,
    bannerComment: '// `npm run bundle` makes this file.',
    style: { semi: false, singleQuote: true, printWidth: 110 },
  })
}

async function describedNode(): Promise<Document> {
  const node = await createTestNode({ config: { extends: 'nodekeep:default' } })
  try {
    const owner = await node.signIn('owner')
    return (await (await owner.fetch('/openapi.json')).json()) as Document
  } finally {
    await node.stop()
  }
}
