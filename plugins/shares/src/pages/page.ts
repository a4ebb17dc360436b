import { webStylesheet } from '@nodekeep/plugin-sdk'
import { type Html, html } from './html.ts'

/**
 * The headers of every answer to a guest, as far as it has no others. Pages run the script of this plugin alone, and send nothing to other
 * addresses, not even their own, which is the secret.
 */
export const guestHeaders = {
  'cache-control': 'private, no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "media-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow, noarchive',
} as const

/** A page for guests. */
interface Page {
  readonly title: string
  readonly content: Html
  /** Whether the page has the script for uploads. */
  readonly hasScript?: boolean
}

/** Writes a page as a document. */
export function documentOf({ title, content, hasScript = false }: Page): string {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex, nofollow">
    <meta name="referrer" content="no-referrer">
    <title>${title}</title>
    <link rel="stylesheet" href="${webStylesheet}">
    <link rel="stylesheet" href="/s/-/shares.css">
    ${hasScript ? html`<script type="module" src="/s/-/drop.js"></script>` : null}
  </head>
  <body>
    <main class="share">
${content}
    </main>
  </body>
</html>
`.html
}
