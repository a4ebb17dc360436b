export { type ByteRange, byteRange } from './stored-content/byte-range.ts'
export { contentHeaders, refuseAsCode } from './stored-content/content-headers.ts'
export { entityTags, namesTag } from './stored-content/entity-tags.ts'
export { type ContentAnswer, sendArchive, sendContent } from './stored-content/send-content.ts'
