import type Anthropic from '@anthropic-ai/sdk'
import { type ChatRequest, NodekeepError } from '@nodekeep/plugin-sdk'
import { closedSchema } from './closed-schema.ts'

type Json = NonNullable<ChatRequest['json']>
type Effort = NonNullable<ChatRequest['reasoningEffort']>

/**
 * What a reply has to be, and how much is thought for it; `null` where a request says neither.
 *
 * @throws NodekeepError VALIDATION_ERROR for JSON without a schema, or with one that the API cannot take
 */
export async function outputConfig({
  json,
  reasoningEffort,
}: ChatRequest): Promise<Anthropic.OutputConfig | null> {
  if (json === undefined && reasoningEffort === undefined) return null
  return {
    ...(json && { format: await outputFormat(json) }),
    ...(reasoningEffort && { effort: effort(reasoningEffort) }),
  }
}

async function outputFormat({ schema, description }: Json): Promise<Anthropic.JSONOutputFormat> {
  if (schema?.type !== 'object') {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider writes JSON by a JSON Schema of the type "object" only. Give it one.',
      { permanent: true },
    )
  }
  const described = { ...(description !== undefined && { description }), ...schema }
  return { type: 'json_schema', schema: await closedSchema(described) }
}

/** The API knows nothing below `low`. */
function effort(wanted: Effort): NonNullable<Anthropic.OutputConfig['effort']> {
  return wanted === 'none' || wanted === 'minimal' ? 'low' : wanted
}
