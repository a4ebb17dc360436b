export { Refusal } from './refusal.ts'
export { type ContentDecoder, type DecodedContent, serveContents } from './serve-contents.ts'
