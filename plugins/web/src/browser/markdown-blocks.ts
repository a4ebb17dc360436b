import type { MarkedToken, Token, Tokens } from 'marked'
import type { VNode } from 'preact'
import { CodeBlock } from './code-block.ts'
import { html } from './html.ts'

/** Deeper parts are shown as they are. */
const deepest = 20

/** Makes elements of the blocks of a text in markdown. HTML in it is shown as text, and pictures are links, so nothing is loaded. */
export function blocks(tokens: readonly Token[], depth = 0): unknown[] {
  return tokens.map((token) => (depth > deepest ? token.raw : block(token as MarkedToken, depth + 1)))
}

function block(token: MarkedToken, depth: number): unknown {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'paragraph':
      return html`<p>${inlines(token.tokens, depth)}</p>`
    case 'heading':
      // The title of the page is above.
      return html`<${`h${Math.min(token.depth + 1, 6)}`}>${inlines(token.tokens, depth)}<//>`
    case 'code':
      return html`<${CodeBlock} text=${token.text} language=${token.lang ?? ''} />`
    case 'blockquote':
      return html`<blockquote>${blocks(token.tokens, depth)}</blockquote>`
    case 'list': {
      const items = token.items.map((item) => html`<li>${blocks(item.tokens, depth)}</li>`)
      return token.ordered ? html`<ol start=${token.start}>${items}</ol>` : html`<ul>${items}</ul>`
    }
    case 'table':
      return table(token, depth)
    case 'hr':
      return html`<hr />`
    case 'html':
      return html`<p class="plain">${token.text}</p>`
    default:
      return inline(token, depth)
  }
}

function table({ header, rows }: Tokens.Table, depth: number): VNode {
  const cells = (row: Tokens.TableCell[], name: 'th' | 'td') =>
    row.map(
      ({ tokens, align }) => html`<${name} class=${align && `to-${align}`}>${inlines(tokens, depth)}<//>`,
    )
  return html`<div class="table"><table>
    <thead><tr>${cells(header, 'th')}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells(row, 'td')}</tr>`)}</tbody>
  </table></div>`
}

function inlines(tokens: readonly Token[], depth: number): unknown[] {
  return tokens.map((token) => (depth > deepest ? token.raw : inline(token as MarkedToken, depth + 1)))
}

function inline(token: MarkedToken, depth: number): unknown {
  switch (token.type) {
    case 'text':
      return token.tokens ? inlines(token.tokens, depth) : decoded(token.text)
    case 'strong':
      return html`<strong>${inlines(token.tokens, depth)}</strong>`
    case 'em':
      return html`<em>${inlines(token.tokens, depth)}</em>`
    case 'del':
      return html`<del>${inlines(token.tokens, depth)}</del>`
    case 'codespan':
      return html`<code>${token.text}</code>`
    case 'br':
      return html`<br />`
    case 'escape':
      return token.text
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'link':
      return link(token.autolink ? token.href : decoded(token.href), inlines(token.tokens, depth))
    case 'image':
      return link(decoded(token.href), decoded(token.text) || token.href)
    default:
      return token.raw
  }
}

/** Links point to the web and to mail only, never to code or to routes of the node. */
function link(href: string, content: unknown): unknown {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return content
  return html`<a href=${href} title=${href} target="_blank" rel="noopener noreferrer">${content}</a>`
}

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
}

/** Resolves the character references that models use (CommonMark, "Entity and numeric character references"). */
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return named[name] ?? all
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
  })
}
