import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * The JSON Schema of an object in the form that the API can keep a model to. It knows a part of JSON Schema only; the
 * SDK turns what goes beyond it into descriptions, which the model reads.
 *
 * @throws NodekeepError VALIDATION_ERROR for one that the API cannot take
 */
export async function closedSchema(
  schema: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { jsonSchemaOutputFormat } = await import('@anthropic-ai/sdk/helpers/json-schema')
  try {
    return jsonSchemaOutputFormat({ ...schema, type: 'object' }).schema
  } catch (error) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'This provider cannot keep to this JSON Schema. Give each part of it a type.',
      { cause: error, permanent: true },
    )
  }
}
