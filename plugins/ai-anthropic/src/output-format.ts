import type Anthropic from '@anthropic-ai/sdk'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * The format of a reply that is JSON. The API knows a part of JSON Schema only; the SDK turns what goes beyond it into
 * descriptions, which the model reads.
 *
 * @throws NodekeepError VALIDATION_ERROR without a schema, or with one that the API can't take
 */
export async function outputFormat(
  schema: Readonly<Record<string, unknown>> | undefined,
): Promise<Anthropic.JSONOutputFormat> {
  if (schema?.type !== 'object') {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider writes JSON by a JSON Schema of the type "object" only. Give it one.',
      { permanent: true },
    )
  }
  const { jsonSchemaOutputFormat } = await import('@anthropic-ai/sdk/helpers/json-schema')
  try {
    const format = jsonSchemaOutputFormat({ ...schema, type: 'object' })
    return { type: format.type, schema: format.schema }
  } catch (error) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      "This provider can't write JSON by this JSON Schema. Give each part of it a type.",
      { cause: error, permanent: true },
    )
  }
}
