import{C as ne,D as U,E as oe,F as k,G as re,H as F,I as se,J as ae,K as H,L as N,M as le,N as ie,P as ue,R as v,S as ce,T as A,U as O,W as me,X as w,a as Y,b as o,c as f,d as q,e as h,f as y,h as g,i as Z,j as ee,m as c,n as M,o as C,p as L,w as K,x as te,y as V,z as I}from"./chunk.js";function pe({icon:e,title:t,text:r="",children:n}){return o`<div class="empty">
    ${f(e)}
    <h2>${t}</h2>
    ${r!==""&&o`<p>${r}</p>`}
    ${n!==void 0&&o`<div class="choices">${n}</div>`}
  </div>`}var E=g(null),Q=g(""),P=g(!1);function de(e){return E.value?.answer(null),new Promise(t=>{Q.value="",P.value=!1,E.value={...e,answer(r){E.value=null,t(r)}}})}function fe(){let e=E.value;if(h(()=>()=>E.value?.answer(null),[]),e===null)return null;let{title:t,text:r,field:n,agree:s,danger:a,check:i,answer:l}=e,u=async m=>{if(m.preventDefault(),P.value)return;let p=new FormData(m.target),d=String(p.get("value")??"").trim();P.value=!0;let $=await i?.(d)??null;E.value===e&&(P.value=!1,$===null?l(d):Q.value=$)};return o`<${W} title=${t} selected=${n?.selected} onClose=${()=>l(null)}>
    <form onSubmit=${u}>
      ${r&&o`<p>${r}</p>`}
      ${n&&o`<label>${n.label}<input name="value" defaultValue=${n.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${Q}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>l(null)}>${L}</button>
        <button type="submit" class=${a?"danger main":"main"} aria-disabled=${P.value}>${s}</button>
      </p>
    </form>
  <//>`}function W(e){let t=y(null);return h(()=>{let n=t.current;n?.showModal();let s=n?.querySelector("input[autofocus]");return s?.setSelectionRange(0,e.selected??s.value.length),()=>n?.close()},[]),o`<dialog ref=${t} onCancel=${n=>{n.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var Ce=new A({path:"/api/system/health",freshMs:5e3,everyMs:e=>e!==null&&e.attention.length>0?1e4:6e4});function he(){let{attention:e=[]}=O(Ce)??{},t=e.length;if(t===0)return null;let r=e.every(({ok:s})=>s)?"warning":"fault",n=c.attention(t);return o`<a class=${`badge attention-badge ${r}`} href=${k("/node")} aria-label=${n} title=${n}>
    ${f("bell")}${t}
  </a>`}var Le=6;function _({name:e}){let[t="?"]=e,r=[...e].reduce((n,s)=>n+(s.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${t} data-color=${r%Le} aria-hidden="true"></span>`}var Ve=700,B=6;function Ie({label:e,items:t,at:r,onClose:n,children:s}){let a=y(null),i=y({text:"",at:0});return h(()=>{let u=a.current,m=document.activeElement;if(u===null)return;u.showPopover();let p=()=>Ae(u,r);p(),addEventListener("resize",p),$e(u)[0]?.focus({preventScroll:!0});let d=({target:S})=>{[u,r].some(X=>X instanceof Element&&X.contains(S))||n()};addEventListener("pointerdown",d,{capture:!0});let{hash:$}=location,T=()=>{location.hash!==$&&n()};return addEventListener("hashchange",T),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p),removeEventListener("hashchange",T);let{activeElement:S}=document;(S===document.body||u.contains(S))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${a} onKeyDown=${u=>{let m=a.current;if(m===null||u.ctrlKey||u.metaKey||u.altKey)return;let p=$e(m),d=p.indexOf(document.activeElement),$=He(u.key,p,d,i.current);if(u.key==="Tab"||u.key==="Escape")n();else if($!==void 0)$.focus();else return;u.preventDefault()}}>
    ${s}
    <div role="menu" aria-label=${e}>
      ${t.map(u=>u===null?o`<hr />`:o`<${Fe} item=${u} onClose=${n} />`)}
    </div>
  </div>`}function Fe({item:e,onClose:t}){let{label:r,icon:n,keys:s,isDanger:a=!1,isChosen:i,refused:l}=e,u={role:i===void 0?"menuitem":"menuitemradio",tabindex:-1,class:a?"danger":"","aria-checked":i,"aria-disabled":l===void 0?void 0:!0,title:l},m=o`
    ${typeof n=="string"?f(n):n}
    <span>${r}</span>
    ${s!==void 0&&o`<kbd aria-hidden="true">${s}</kbd>`}
    ${i===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${u} href=${e.href} aria-current=${d} onClick=${t}>${m}</a>`}return o`<button type="button" ...${u} aria-keyshortcuts=${s} onClick=${()=>{l===void 0&&(t(),queueMicrotask(e.run))}}>${m}</button>`}function D({label:e,items:t,head:r,children:n,...s}){let a=y(null),i=ee(!1),l=()=>{i.value=!i.value},u=()=>{i.value=!1};return o`<button
      type="button"
      ...${s}
      ref=${a}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${i.value}
      onClick=${l}
    >${n}</button>
    ${i.value&&a.current&&o`<${Ie} label=${e} items=${t} at=${a.current} onClose=${u}>${r}<//>`}`}function $e(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function He(e,t,r,n){if(e==="ArrowDown")return t[(r+1)%t.length];if(e==="ArrowUp")return t.at(r<=0?-1:r-1);if(e==="Home")return t[0];if(e==="End")return t.at(-1);if(e.length!==1||e===" ")return;let s=performance.now();n.text=(s-n.at<Ve?n.text:"")+e.toLocaleLowerCase(),n.at=s;let a=n.text.length===1?r+1:r;return[...t.slice(a),...t.slice(0,a)].find(({innerText:l})=>l.trim().toLocaleLowerCase().startsWith(n.text))}function Ae(e,t){e.style.left="0";let{width:r,height:n}=e.getBoundingClientRect(),s=(d,$,T)=>Math.max(B,Math.min(d,T-$-B)),a=t instanceof Element?t.getBoundingClientRect():new DOMRect(t.x,t.y,0,0),i=t instanceof Element?B:0,l=a.left+a.width/2<innerWidth/2||!(t instanceof Element),u=a.bottom+i+n+B<=innerHeight||a.top<innerHeight-a.bottom,m=l?a.left:a.right-r,p=u?a.bottom+i:a.top-i-n;e.style.left=`${s(m,r,innerWidth)}px`,e.style.top=`${s(p,n,innerHeight)}px`}function R(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${H}</span></a>`}function ge({bytes:e,space:t,legend:r}){let{free:n,total:s}=t,a=Math.max(0,s-n-e),i=l=>({width:`${100*Math.min(Math.max(l,0),s)/Math.max(s,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
      <span class=${e>0?"own":""} style=${i(e)}></span>
      <span class="others" style=${i(a)}></span>
    </span>
    ${r&&o`<span class="usage-legend">
        <span class="own">${r.own(w(e))}</span>
        ${a>0&&o`<span class="others">${r.others(w(a))}</span>`}
        <span>${C.legend.free(w(n))}</span>
      </span>`}`}var Oe=new A({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function ye(){let e=O(Oe);if(e===null)return null;let{bytes:t,kept:r,quota:n,space:s}=e,a=n?.taken??t+r.trash+r.versions,i=n?.bytes??s?.total,l=n?Math.max(0,n.bytes-n.taken):s?.free,{roomUsed:u,roomOf:m}=c;if(i===void 0||l===void 0)return o`<p class="room">${u(w(a))}</p>`;let p={own:n?d=>m(d,w(i)):u,others:C.legend.otherThings};return o`<p class="room"><${ge} bytes=${a} space=${{free:l,total:i}} legend=${p} /></p>`}var Be=4;function ve({pages:e}){let t=I(V),r=e.filter(({place:l})=>l==="tab").slice(0,Be),n=t?r:e.filter(({place:l})=>l==="tab"||l==="side"),s=e.filter(l=>l.place!=="user"&&!n.includes(l)),a=v.value?.name,i=s.some(({name:l})=>l===a);return o`<nav class="side" aria-label=${c.navigation}>
    <${R} />
    <ul>
      ${n.map(({name:l,title:u,icon:m})=>o`<li key=${l}>
          <a href=${k(`/${l}`)} aria-current=${l===a?"page":void 0}>
            ${q(m)}<span>${u}</span>
          </a>
        </li>`)}
      ${s.length>0&&o`<li>
          <${D} label=${c.more} items=${z(s)} aria-current=${i?"true":void 0}>
            ${f("ellipsis")}<span>${c.more}</span>
          <//>
        </li>`}
    </ul>
    ${!t&&e.some(({name:l})=>l==="files")&&o`<${ye} />`}
  </nav>`}function z(e){return e.map(({name:t,title:r,icon:n})=>({label:r,icon:q(n),href:k(`/${t}`),isCurrent:t===v.value?.name}))}var G=["light","dark","system"],be="nodekeep-theme",x=g(we());Z(()=>{let{dataset:e}=document.documentElement;x.value==="system"?delete e.theme:e.theme=x.value;for(let t of document.querySelectorAll("meta[data-scheme]")){let{scheme:r}=t.dataset;x.value==="system"?t.media=`(prefers-color-scheme: ${r})`:t.media=r===x.value?"all":"not all"}});addEventListener("storage",()=>{x.value=we()});function xe(e){x.value=e;try{localStorage.setItem(be,e)}catch{}}function we(){try{let e=localStorage.getItem(be);return G.find(t=>t===e)??"system"}catch{return"system"}}var De={light:"sun",dark:"moon",system:"monitor"};function Ee({user:e,pages:t}){let r=[...z(t.filter(({place:s})=>s==="user")),null,...G.map(s=>({label:c.themes[s],icon:De[s],isChosen:x.value===s,run:()=>xe(s)})),null,{label:c.signOut,icon:"log-out",run:()=>{Re()}}],n=o`<p class="person-head"><${_} name=${e.username} /><b>${e.username}</b></p>`;return o`<${D} class="person" label=${c.menuOf(e.username)} items=${r} head=${n}>
    <${_} name=${e.username} />
  <//>`}async function Re(){let{signOut:e,signOutTitle:t,signOutText:r}=c;if(!(qe()&&await de({title:t,text:r,agree:e})===null))try{await ue(),re(c.signedOut)}catch(n){F(n,c.requestFailed)}}function qe(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var Ke='input:not([type="checkbox"]), textarea, select',Ue="dialog[open], :popover-open, .viewer";function Me({target:e}){return!(e instanceof Element&&e.matches(Ke))&&document.querySelector(Ue)===null}var Qe=200,j="files";function Ne(){let e=y(null),t=ke(),r=I(V);h(()=>{let s=ke();e.current!==null&&e.current.value!==s&&(e.current.value=s)},[t]),h(()=>{let s=a=>{let{key:i,ctrlKey:l,metaKey:u,altKey:m}=a;i!=="/"||l||u||m||!Me(a)||(a.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",s),()=>removeEventListener("keydown",s)},[]);let n=({currentTarget:s})=>{let a=s.value,i=v.peek()?.name===j;if(a===""&&!i)return;let l=i?ne.peek():"/";oe(`/${j}${l==="/"?"":l}`,{query:a===""?{}:{search:a},replace:i&&U.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${t}
      placeholder=${r?c.searchShort:c.search}
      aria-label=${c.search}
      aria-keyshortcuts="/"
      maxlength=${Qe}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${n}
    />
    ${We()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function ke(){return v.value?.name===j?U.value.search??"":""}function We(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var Pe=g(null),Te=g(!1);async function _e(){try{Pe.value??=(await import("./sign-in.js")).SignIn}catch{Te.value=!0}}function J(e){h(()=>{_e()},[]);let t=Pe.value;return t!==null?o`<${t} ...${e} />`:Te.value?o`<p role="alert">${c.pageFailed(M.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${c.reload}</button></p>`:o`<p class="hint">${c.loading}</p>`}function ze(){let e=le.value;return o`
    <a class="skip" href="#content" onClick=${Ge}>${c.skip}</a>
    <p class="away" role="status">${K.value&&c.away}</p>
    ${N.value&&o`<${ve} pages=${N.value.pages} />`}
    <${je} />
    <${me} />
    <${Je} />
    <${se} />
    <${fe} />
    ${e&&o`<${W} title=${M.againTitle} onClose=${()=>e.end(!1)}>
        <p>${M.again}</p>
        <${J} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${L}</button></p>
      <//>`}
  `}function Ge(e){e.preventDefault(),document.getElementById("content")?.focus()}function je(){let e=N.value;return o`<header class="top">
    <${R} />
    ${e?.search&&o`<${Ne} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${he} />`}
        <${Ee} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function Je(){let e=N.value;if(e===void 0){let{loading:n,awayTitle:s,awayText:a}=c;return o`<main id="content">
      ${K.value?o`<h1 class="unseen">${H.value}</h1><${pe} icon="wifi-off" title=${s} text=${a} />`:o`<p class="hint">${n}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${J} /></main>`;let t=v.value;if(t!==void 0)return o`<${ce} key=${t.name} page=${t} user=${e.user} />`;let r=e.pages.length===0?c.noPages:c.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${r}</p></main>`}async function Xe(){await ie(),te()&&ae()&&location.reload()}Y(o`<${ze} />`,document.body);Xe().catch(e=>F(e,c.requestFailed));
