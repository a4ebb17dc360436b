/** A piece of HTML that is safe to put into a page. */
export interface Html {
  readonly html: string
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Makes HTML of a template. Each value is text, of which nothing is markup, or HTML; null is nothing. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[] | null)[]
): Html {
  return {
    html: parts.map((part, at) => part + (at < values.length ? textOf(values[at] ?? null) : '')).join(''),
  }
}

function textOf(value: string | number | Html | readonly Html[] | null): string {
  if (value === null) return ''
  if (typeof value === 'object') return 'html' in value ? value.html : value.map((one) => one.html).join('')
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
