import { type ChatQuery, NodekeepError } from '@nodekeep/plugin-sdk'
import type { WireFormat } from './chat-body.ts'

/**
 * Reads which form the reply has to have. Some servers have the schema of a `json_object` beside the type, so that their
 * clients write it there.
 *
 * @throws NodekeepError VALIDATION_ERROR for a schema that is missing, or stands where it would be passed over
 */
export function readFormat(format: WireFormat | null | undefined): Pick<ChatQuery, 'json'> {
  if (format == null) return {}
  const { type, schema, json_schema: described } = format
  if (type === 'json_schema') return { json: readDescribed(described ?? {}) }
  if (described != null) throw wrong('has a "json_schema", which needs the type "json_schema"')
  if (type === 'json_object') return { json: schema == null ? {} : { schema } }
  if (schema != null) throw wrong('has a "schema", but asks for text')
  return {}
}

function readDescribed({
  name,
  description,
  schema,
  strict,
}: NonNullable<WireFormat['json_schema']>): NonNullable<ChatQuery['json']> {
  if (schema == null) throw wrong('needs the JSON Schema of the reply as "json_schema.schema"')
  return {
    schema,
    ...(name == null ? {} : { name }),
    ...(description == null ? {} : { description }),
    ...(strict == null ? {} : { strict }),
  }
}

function wrong(what: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `Invalid input: "response_format" ${what}.`)
}
