import type { ChatQuery } from '@nodekeep/plugin-sdk'
import type { WireFormat } from './chat-body.ts'

/** Reads which form the reply has to have. */
export function readFormat(format: WireFormat | null | undefined): Pick<ChatQuery, 'json'> {
  if (format == null || format.type === 'text') return {}
  if (format.type === 'json_object') return { json: {} }
  const { name, description, schema, strict } = format.json_schema ?? {}
  return {
    json: {
      ...(schema == null ? {} : { schema }),
      ...(name == null ? {} : { name }),
      ...(description == null ? {} : { description }),
      ...(strict == null ? {} : { strict }),
    },
  }
}
