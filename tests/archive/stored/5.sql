begin;
CREATE TABLE migration (number integer primary key, name text not null, applied_at text);
CREATE TABLE conversation (
                conversation_key integer primary key,
                platform text not null,
                conversation_id text not null,
                title text,
                project text,
                model text,
                created_at text not null,
                updated_at text,
                status text,
                is_sidechain integer not null,
                parent_conversation_id text,
                header text not null,
                unique (platform, conversation_id)
            );
CREATE TABLE header_state (
                conversation integer not null references conversation on delete cascade,
                state_hash blob not null,
                updated_at text not null,
                header text not null,
                primary key (conversation, state_hash)
            ) without rowid;
CREATE TABLE body (
                body_key integer primary key,
                hash blob not null,
                search_key integer not null,
                is_error integer not null,
                content text not null
            );
CREATE TABLE tool_call (
                tool text not null,
                body integer not null references body on delete cascade,
                calls integer not null,
                primary key (tool, body)
            ) without rowid;
CREATE TABLE message (
                message_key integer primary key,
                conversation integer not null references conversation on delete cascade,
                message_id text not null,
                position integer not null,
                parent_message_id text,
                role text not null,
                author_kind text,
                timestamp text not null,
                model text,
                api_message_id text,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                tokens text,
                body integer not null references body,
                version blob not null,
                rest text not null
            , request_id text, sent_at text, sent_request text);
CREATE TABLE revision (
                conversation integer not null references conversation on delete cascade,
                message_id text not null,
                version blob not null,
                parent_message_id text,
                role text not null,
                timestamp text not null,
                body integer not null references body,
                rest text not null,
                primary key (conversation, message_id, version)
            ) without rowid;
CREATE TABLE summary (
                conversation integer not null references conversation on delete cascade,
                summary_id text not null,
                position integer not null,
                timestamp text not null,
                summary text not null,
                primary key (conversation, summary_id)
            ) without rowid;
CREATE TABLE source_tag (
                conversation integer not null references conversation on delete cascade,
                tag text not null,
                primary key (conversation, tag)
            ) without rowid;
CREATE TABLE tag (
                platform text not null,
                conversation_id text not null,
                tag text not null,
                is_removed integer not null,
                changed_at text not null,
                primary key (platform, conversation_id, tag)
            ) without rowid;
CREATE TABLE rating (
                platform text not null,
                conversation_id text not null,
                score real,
                feedback text,
                rated_at text not null,
                primary key (platform, conversation_id)
            ) without rowid;
CREATE TABLE tombstone (
                platform text not null,
                conversation_id text not null,
                forgotten_at text not null,
                reason text,
                primary key (platform, conversation_id)
            ) without rowid;
CREATE TABLE source (
                source_key integer primary key,
                label text not null,
                platform text not null,
                form text not null,
                reason text not null,
                members text not null,
                options text not null,
                size_bytes integer not null,
                conversations integer not null,
                messages integer not null,
                failure text not null,
                first_imported_at text not null,
                imported_at text not null,
                palaver_version text not null, revision integer not null default 0,
                unique (platform, label)
            );
CREATE TABLE source_file (
                path text not null,
                source integer not null references source on delete cascade,
                size_bytes integer not null,
                modified_ns integer not null,
                primary key (path, source)
            ) without rowid;
CREATE TABLE unclaimed_file (
                path text primary key,
                size_bytes integer not null,
                modified_ns integer not null,
                reason text not null,
                asked text not null
            ) without rowid;
CREATE TABLE cursor (
                source integer not null references source on delete cascade,
                file text not null,
                read_bytes integer not null,
                tail_hash text not null,
                state text not null,
                primary key (source, file)
            ) without rowid;
CREATE TABLE ledger (
                source integer not null references source on delete cascade,
                disposition text not null,
                rule text not null,
                records integer not null,
                primary key (source, disposition, rule)
            ) without rowid;
CREATE TABLE finding (
                source integer not null references source on delete cascade,
                code text not null,
                severity text not null,
                findings integer not null,
                places text not null,
                primary key (source, code)
            ) without rowid;
CREATE TABLE quarantine (
                quarantine_key integer primary key,
                source integer not null references source on delete cascade,
                place text not null,
                code text not null,
                message text not null,
                set_aside_at text not null,
                raw blob not null
            );
CREATE TABLE origin (
                conversation integer not null references conversation on delete cascade,
                source integer not null references source on delete cascade,
                primary key (conversation, source)
            ) without rowid;
CREATE TABLE withheld (
                platform text not null,
                conversation_id text not null,
                source integer not null references source on delete cascade,
                primary key (platform, conversation_id, source),
                foreign key (platform, conversation_id) references tombstone on delete cascade
            ) without rowid;
CREATE VIRTUAL TABLE search using fts5 (
                text, thinking, tool, content = '', tokenize = 'unicode61 remove_diacritics 2'
            );
CREATE TABLE answer_usage (
                message integer not null references message on delete cascade,
                api_message_id text not null,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                tokens text not null,
                primary key (message, api_message_id)
            ) without rowid;
CREATE TABLE usage_record (
                usage_key integer primary key,
                platform text not null,
                usage_id text not null,
                kind text not null,
                started_at text not null,
                ended_at text,
                subject_kind text,
                subject_id text,
                model text,
                request_id text,
                api_message_id text,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                record text not null,
                unique (platform, usage_id)
            );
CREATE TABLE usage_origin (
                usage_record integer not null references usage_record on delete cascade,
                source integer not null references source on delete cascade,
                primary key (usage_record, source)
            ) without rowid;
CREATE TABLE settled_hash (hash blob primary key, body integer not null) without rowid;
CREATE TABLE recent_hash (hash blob primary key, body integer not null) without rowid;
delete from migration;
insert into migration values (1, 'conversations, messages, bodies, sources', '2026-11-19T05:53:57.379Z');
insert into migration values (2, 'usage records, usage of several calls with the same words', '2026-11-19T05:53:57.379Z');
insert into migration values (3, 'what grows with the archive is written anew less often', '2026-11-19T05:53:57.379Z');
insert into migration values (4, 'which revision of its importer read each source', '2026-11-19T05:53:57.379Z');
insert into migration values (5, 'messages of recorded API traffic are found by the ids of their calls', '2026-11-19T05:53:57.380Z');
delete from conversation;
insert into conversation values (1, 'chatgpt', '00000901-aaaa-4000-8000-000000000901', 'Boat names', NULL, 'gpt-4o', '2025-01-01T00:00:00.000Z', '2025-01-01T00:10:00.500Z', NULL, 0, NULL, '{"platform":{"metadata":{"current_node":"00000014-aaaa-4000-8000-000000000014","default_model_slug":"auto","export_generation":"classic","memory_scope":"global_enabled"},"model":"gpt-4o","name":"chatgpt"},"title":"Boat names"}');
insert into conversation values (2, 'claude_code', '54752a38-abea-416f-8ee5-3f38bb2254e7', 'Which stars lead the way home from the hill on a clear night?', '/home/ada/almanac', 'claude-opus-4-6', '2026-03-01T09:00:04.328Z', '2026-03-01T09:00:19.251Z', NULL, 0, NULL, '{"context":{"workspace":{"git_branch":"main","path":"/home/ada/almanac"}},"platform":{"model":"claude-opus-4-6","name":"claude_code","version":"2.1.39"},"session":{"is_sidechain":false,"session_id":"54752a38-abea-416f-8ee5-3f38bb2254e7"},"title":"Which stars lead the way home from the hill on a clear night?"}');
insert into conversation values (3, 'claude_code', '5e1bd177-1e25-4f05-8820-4b8e55392b42', 'Which beds in planting.md still need to be mulched before the first frost?', '/home/ada/garden', 'claude-opus-4-6', '2026-02-10T09:00:07.310Z', '2026-02-10T09:00:38.238Z', NULL, 0, NULL, '{"context":{"workspace":{"git_branch":"main","path":"/home/ada/garden"}},"platform":{"metadata":{"slug":"quiet-mossy-lantern"},"model":"claude-opus-4-6","name":"claude_code","version":"2.1.39"},"session":{"is_sidechain":false,"session_id":"5e1bd177-1e25-4f05-8820-4b8e55392b42"},"title":"Which beds in planting.md still need to be mulched before the first frost?"}');
insert into conversation values (4, 'azure_openai', 'twice', NULL, NULL, NULL, '2026-01-01T10:00:00.000Z', NULL, NULL, 0, NULL, '{"platform":{"name":"azure_openai"}}');
delete from header_state;
insert into header_state values (1, X'1ED86AC5A60CC8FEF8735AB2C229935D', '2025-01-01T00:10:00.500Z', '{"platform":{"metadata":{"current_node":"00000014-aaaa-4000-8000-000000000014","default_model_slug":"auto","export_generation":"classic","memory_scope":"global_enabled"},"model":"gpt-4o","name":"chatgpt"},"title":"Boat names"}');
insert into header_state values (2, X'E202680A2CFEF66C581E4CD7AE12F22F', '2026-03-01T09:00:19.251Z', '{"context":{"workspace":{"git_branch":"main","path":"/home/ada/almanac"}},"platform":{"model":"claude-opus-4-6","name":"claude_code","version":"2.1.39"},"session":{"is_sidechain":false,"session_id":"54752a38-abea-416f-8ee5-3f38bb2254e7"},"title":"Which stars lead the way home from the hill on a clear night?"}');
insert into header_state values (3, X'8D64F93EDAF58B4956CDABC9BF848270', '2026-02-10T09:00:38.238Z', '{"context":{"workspace":{"git_branch":"main","path":"/home/ada/garden"}},"platform":{"metadata":{"slug":"quiet-mossy-lantern"},"model":"claude-opus-4-6","name":"claude_code","version":"2.1.39"},"session":{"is_sidechain":false,"session_id":"5e1bd177-1e25-4f05-8820-4b8e55392b42"},"title":"Which beds in planting.md still need to be mulched before the first frost?"}');
insert into header_state values (4, X'D00BE6F3384F69070A5A99B4E0D2BEF2', '2026-01-01T10:00:00.000Z', '{"platform":{"name":"azure_openai"}}');
delete from body;
insert into body values (1, X'6F4A0C5D912871109F1B2452198993CC', 3727365036151144449, 0, '[{"text":"Write a name for a small sailing boat, please.","type":"text"}]');
insert into body values (2, X'7602E2A36A69C6BCC0CCA36730327DA3', 3727365038298628098, 0, '[{"text":"Larkspur, after the flower that sailors once hung on the mast.","type":"text"}]');
insert into body values (3, X'0BE1E47A4EDD86E6AC8D948A1CC9DADA', 3727365038298628099, 0, '[{"text":"Petrel, after the bird that seems to walk upon the water.","type":"text"}]');
insert into body values (4, X'7C3ACBB9065ABEE41F88C3BAED42F50C', 3727365040446111748, 0, '[{"text":"Trio is short enough to paint on a narrow stern.","type":"text"}]');
insert into body values (5, X'09BD7573196FF33323FECD3E3222BE04', 3727365042593595397, 0, '[{"text":"Now one for a rowing boat that three people share.","type":"text"}]');
insert into body values (6, X'D6FEE123D9F460074D242103A607CE6C', 3727365044741079046, 0, '[{"text":"Now one for a rowing boat that two people share.","type":"text"}]');
insert into body values (7, X'2AE52D4170A5B6E7891E5943C7DC93E8', 3727365046888562695, 0, '[{"text":"Duet would suit a boat that only two people row.","type":"text"}]');
insert into body values (8, X'91CC34FF8DDFA341E4002E9EDAE1BF99', 3802579375317057544, 0, '[{"text":"Which beds in planting.md still need to be mulched before the first frost?","type":"text"}]');
insert into body values (9, X'3B0E68F8506A24D38185B69AE3A0BE2F', 3802579386054475785, 0, '[{"text":"I will look at the planting notes first, then compare the dates.","type":"text"},{"id":"toolu_01KFCKNMSTVf6pFhjt9byYJ1","input":{"file_path":"/home/ada/garden/planting.md"},"name":"Read","type":"tool_use"}]');
insert into body values (10, X'72795AC7076A481DCABA78E80F11837A', 3802579409676795914, 0, '[{"content":"     1→# Beds\n     2→- north: leeks, mulched 12 October\n     3→- west: garlic, bare soil\n     4→- pond side: kale, bare soil\n","is_error":false,"metadata":{"tool_use_result":{"file":{"filePath":"/home/ada/garden/planting.md","numLines":4,"startLine":1,"totalLines":4},"type":"text"}},"tool_use_id":"toolu_01KFCKNMSTVf6pFhjt9byYJ1","type":"tool_result"}]');
insert into body values (11, X'74CB9DD81AE7C84776182DB46E27127C', 3802579416119246859, 0, '[{"text":"Two beds are still bare: the west bed with the garlic and the pond-side bed with the kale.","type":"text"}]');
insert into body values (12, X'30C8B3B8C8D632055548D92932E3D7AB', 3802579426856665100, 0, '[{"text":"Thank you. Remind me how thick the straw should lie on garlic.","type":"text"}]');
insert into body values (13, X'EB52A11222AFF6A258236C4CAB64D4EF', 3802579441889050637, 0, '[{"text":"About ten centimetres, pushed aside again when the shoots stand a hand high in spring.","type":"text"}]');
insert into body values (14, X'D1574A3287DAB01EE35FB8F34559BDA2', 3806104678031163406, 0, '[{"text":"Which stars lead the way home from the hill on a clear night?","type":"text"}]');
insert into body values (15, X'78C8454A3A3C6CCABBB9EDF29C924B1A', 3806104686621097999, 0, '[{"text":"Follow the handle of the Plough to Arcturus; the house lies right below it.","type":"text"}]');
insert into body values (16, X'CF113AF9F0986E570AB0D3686070E85D', 3806104699505999888, 0, '[{"text":"And in winter, when Arcturus has not risen yet?","type":"text"}]');
insert into body values (17, X'E76995BC3BA1DEC5ABE2C68BF615E544', 3806104710243418129, 0, '[{"text":"Then walk with Orion at your back until you hear the stream.","type":"text"}]');
insert into body values (18, X'2F081C4CBF2837CDE36AE6CB1A3E6A6B', 3795165387738316818, 0, '[{"text":"Yes.","type":"text"}]');
delete from tool_call;
insert into tool_call values ('Read', 9, 1);
delete from message;
insert into message values (1, 1, '00000011-aaaa-4000-8000-000000000011', 0, NULL, 'user', 'human', '2025-01-01T00:00:01.000Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, X'D6528C3A8794138C', '{"metadata":{"author_kind":"human","on_active_path":true}}', NULL, NULL, NULL);
insert into message values (2, 1, '00000012-aaaa-4000-8000-000000000012', 1, '00000011-aaaa-4000-8000-000000000011', 'assistant', 'model', '2025-01-01T00:00:02.000Z', 'gpt-4o', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, X'9D31B3A3A48835F5', '{"metadata":{"author_kind":"model","branch_count":2,"branch_index":0,"fork_point":"00000011-aaaa-4000-8000-000000000011","model_override":"gpt-4o","on_active_path":true}}', NULL, NULL, NULL);
insert into message values (3, 1, '00000015-aaaa-4000-8000-000000000015', 2, '00000012-aaaa-4000-8000-000000000012', 'user', 'human', '2025-01-01T00:00:04.000Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, X'DEB2090792547779', '{"metadata":{"author_kind":"human","branch_count":2,"branch_index":0,"fork_point":"00000012-aaaa-4000-8000-000000000012","on_active_path":false}}', NULL, NULL, NULL);
insert into message values (4, 1, '00000017-aaaa-4000-8000-000000000017', 3, '00000015-aaaa-4000-8000-000000000015', 'assistant', 'model', '2025-01-01T00:00:03.000Z', 'gpt-4o', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, X'700490F3FB20B76E', '{"metadata":{"author_kind":"model","model_override":"gpt-4o","on_active_path":false}}', NULL, NULL, NULL);
insert into message values (5, 1, '00000014-aaaa-4000-8000-000000000014', 4, '00000012-aaaa-4000-8000-000000000012', 'user', 'human', '2025-01-01T00:00:05.000Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, X'5C07A43042DB5A48', '{"metadata":{"author_kind":"human","branch_count":2,"branch_index":1,"fork_point":"00000012-aaaa-4000-8000-000000000012","on_active_path":true}}', NULL, NULL, NULL);
insert into message values (6, 1, '00000016-aaaa-4000-8000-000000000016', 5, '00000014-aaaa-4000-8000-000000000014', 'assistant', 'model', '2025-01-01T00:00:06.000Z', 'gpt-4o-mini', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, X'248512A80A0E0200', '{"metadata":{"author_kind":"model","model_override":"gpt-4o-mini","on_active_path":false}}', NULL, NULL, NULL);
insert into message values (7, 1, '00000013-aaaa-4000-8000-000000000013', 6, '00000011-aaaa-4000-8000-000000000011', 'assistant', 'model', '2025-01-01T00:00:02.000Z', 'gpt-4o', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, X'8ECF7D33AC71FD94', '{"metadata":{"author_kind":"model","branch_count":2,"branch_index":1,"fork_point":"00000011-aaaa-4000-8000-000000000011","message_type":"variant","model_override":"gpt-4o","on_active_path":false}}', NULL, NULL, NULL);
insert into message values (8, 2, '218ba0a3-d35f-48d3-a418-2365b87db0ba', 0, NULL, 'user', 'human', '2026-03-01T09:00:04.328Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 14, X'74A1BC1F41E68EB6', '{"metadata":{"author_kind":"human","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (9, 2, 'a0005297-95e6-4992-9a01-351cc37371ff', 1, '218ba0a3-d35f-48d3-a418-2365b87db0ba', 'assistant', 'model', '2026-03-01T09:00:08.478Z', 'claude-opus-4-6', 'msg_01psQycwWZUnFhJjixxUpApf', 3, 30, 9589, 1330, 0, NULL, '{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":1330},"cache_creation_input_tokens":1330,"cache_read_input_tokens":9589,"inference_geo":"not_available","input_tokens":3,"output_tokens":30,"service_tier":"standard"}', 15, X'90B26ECEE4EC63DB', '{"metadata":{"api_message_id":"msg_01psQycwWZUnFhJjixxUpApf","author_kind":"model","model_override":"claude-opus-4-6","request_id":"req_011CYKKPdGcyU9fCS3vjt8aB","stop_reason":"end_turn","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (10, 2, 'c1be340a-ab81-47ba-96a0-8cb43b3c7ba9', 2, 'a0005297-95e6-4992-9a01-351cc37371ff', 'user', 'human', '2026-03-01T09:00:14.651Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 16, X'7CC2860E1E7BB389', '{"metadata":{"author_kind":"human","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (11, 2, 'e8669845-9e59-4175-8bcc-4b9301929826', 3, 'c1be340a-ab81-47ba-96a0-8cb43b3c7ba9', 'assistant', 'model', '2026-03-01T09:00:19.251Z', 'claude-opus-4-6', 'msg_01cZrKmpMwinyJB3jfVcCToe', 3, 30, 29389, 1364, 0, NULL, '{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":1364},"cache_creation_input_tokens":1364,"cache_read_input_tokens":29389,"inference_geo":"not_available","input_tokens":3,"output_tokens":30,"service_tier":"standard"}', 17, X'96BFC5477B096556', '{"metadata":{"api_message_id":"msg_01cZrKmpMwinyJB3jfVcCToe","author_kind":"model","model_override":"claude-opus-4-6","request_id":"req_011CYoFBkgBg6LvXdn6J3Ubm","stop_reason":"end_turn","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (12, 3, 'ef63da32-5df5-493e-9e47-ecd3cd30721f', 0, NULL, 'user', 'human', '2026-02-10T09:00:07.310Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8, X'D1B0306240993158', '{"metadata":{"author_kind":"human","permissionMode":"default","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (13, 3, '429d632c-bd46-4afc-9a2e-b22018bcfe8f', 1, 'ef63da32-5df5-493e-9e47-ecd3cd30721f', 'assistant', 'model', '2026-02-10T09:00:12.720Z', 'claude-opus-4-6', 'msg_01vqhp8QmB5S1jfGXwMiVYTJ', 3, 96, 15584, 812, 0, NULL, '{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":812},"cache_creation_input_tokens":812,"cache_read_input_tokens":15584,"inference_geo":"not_available","input_tokens":3,"output_tokens":96,"service_tier":"standard"}', 9, X'E19EB287D47F2E18', '{"metadata":{"api_message_id":"msg_01vqhp8QmB5S1jfGXwMiVYTJ","author_kind":"model","completed_at":"2026-02-10T09:00:18.770Z","model_override":"claude-opus-4-6","request_id":"req_011CY8vYSd5bsKVgbQmo9HYc","source_ids":["429d632c-bd46-4afc-9a2e-b22018bcfe8f","d45a7b7f-b5d7-4f8e-8c9f-08ed0b68542f"],"stop_reason":"tool_use","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (14, 3, '6585eeef-6b89-48d4-881b-304caca0be3b', 2, '429d632c-bd46-4afc-9a2e-b22018bcfe8f', 'user', 'tool', '2026-02-10T09:00:23.250Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, X'08C56CE9BF129E0E', '{"metadata":{"author_kind":"tool","sourceToolAssistantUUID":"d45a7b7f-b5d7-4f8e-8c9f-08ed0b68542f","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (15, 3, 'aab4b5c8-2167-4dcc-b174-5d5df892d9b2', 3, '6585eeef-6b89-48d4-881b-304caca0be3b', 'assistant', 'model', '2026-02-10T09:00:26.404Z', 'claude-opus-4-6', 'msg_01VkZLupuFW5GQkZscN1Ms9U', 3, 41, 31457, 455, 0, NULL, '{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":455},"cache_creation_input_tokens":455,"cache_read_input_tokens":31457,"inference_geo":"not_available","input_tokens":3,"output_tokens":41,"service_tier":"standard"}', 11, X'52D216DB1C451C29', '{"metadata":{"api_message_id":"msg_01VkZLupuFW5GQkZscN1Ms9U","author_kind":"model","model_override":"claude-opus-4-6","request_id":"req_011CYViH6jwNEAz2kNrfMAa5","stop_reason":"end_turn","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (16, 3, '85fad6ea-c293-43d3-9968-1b6467e636f2', 4, 'aab4b5c8-2167-4dcc-b174-5d5df892d9b2', 'user', 'human', '2026-02-10T09:00:31.306Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 12, X'39CE72072DDB077C', '{"metadata":{"author_kind":"human","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (17, 3, '2ddedc3f-1d01-4ba1-8c7c-1b8b34d83ad7', 5, '85fad6ea-c293-43d3-9968-1b6467e636f2', 'assistant', 'model', '2026-02-10T09:00:38.238Z', 'claude-opus-4-6', 'msg_01vXC37vSdToWSJGpELv8Vzs', 3, 33, 40119, 1821, 0, NULL, '{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":1821},"cache_creation_input_tokens":1821,"cache_read_input_tokens":40119,"inference_geo":"not_available","input_tokens":3,"output_tokens":33,"service_tier":"standard"}', 13, X'769D04258CD17D0A', '{"metadata":{"api_message_id":"msg_01vXC37vSdToWSJGpELv8Vzs","author_kind":"model","model_override":"claude-opus-4-6","request_id":"req_011CYpDzag3PiuqaK4LhKKe2","stop_reason":"end_turn","user_type":"external"}}', NULL, NULL, NULL);
insert into message values (18, 4, 'm1', 0, NULL, 'assistant', NULL, '2026-01-01T10:00:00.000Z', NULL, 'chatcmpl-2', NULL, 4, NULL, NULL, NULL, NULL, '{"output_tokens":4}', 18, X'D5A7E2F93EEAEC08', '{"metadata":{"api_message_id":"chatcmpl-2"}}', NULL, NULL, NULL);
delete from revision;
insert into revision values (4, 'm1', X'92747DA27573D5E3', NULL, 'assistant', '2026-01-01T10:00:00.000Z', 18, '{"metadata":{"api_message_id":"chatcmpl-1"}}');
delete from summary;
delete from source_tag;
delete from tag;
delete from rating;
delete from tombstone;
delete from source;
insert into source values (1, '/home/ada/stored/chatgpt/branches', 'chatgpt', '', 'a folder of conversations with a `mapping` of nodes', '["conversations.json"]', '{}', 4951, 1, 7, '', '2026-11-19T05:53:57.452Z', '2026-11-19T05:53:57.453Z', '0.1.0', 3);
insert into source values (2, '/home/ada/stored/claude_code/damage_bad_line_middle/54752a38-abea-416f-8ee5-3f38bb2254e7.jsonl', 'claude_code', 'session', 'a line of type ''user'' with a message', '["54752a38-abea-416f-8ee5-3f38bb2254e7"]', '{}', 2736, 1, 4, '', '2026-11-19T05:53:57.452Z', '2026-11-19T05:53:57.455Z', '0.1.0', 2);
insert into source values (3, '/home/ada/stored/claude_code/plain_session/5e1bd177-1e25-4f05-8820-4b8e55392b42.jsonl', 'claude_code', 'session', 'a line of type ''file-history-snapshot''', '["5e1bd177-1e25-4f05-8820-4b8e55392b42"]', '{}', 5677, 1, 6, '', '2026-11-19T05:53:57.452Z', '2026-11-19T05:53:57.455Z', '0.1.0', 2);
delete from source_file;
insert into source_file values ('/home/ada/stored/chatgpt/branches/conversations.json', 1, 4951, 1767225600000000000);
insert into source_file values ('/home/ada/stored/claude_code/damage_bad_line_middle/54752a38-abea-416f-8ee5-3f38bb2254e7.jsonl', 2, 2736, 1767225600000000000);
insert into source_file values ('/home/ada/stored/claude_code/plain_session/5e1bd177-1e25-4f05-8820-4b8e55392b42.jsonl', 3, 5677, 1767225600000000000);
delete from unclaimed_file;
delete from cursor;
insert into cursor values (2, '54752a38-abea-416f-8ee5-3f38bb2254e7.jsonl', 2736, 'd174dfd5b91f8b59e3509d609ca755b1', '{"titles":{"prompt":"Which stars lead the way home from the hill on a clear night?"},"custom":{},"tags":[],"cost":null,"models":{"claude-opus-4-6":2},"summaries":[],"tasks":{},"task_of_agent":{},"parent_id":null,"fork_point":null,"sequence":1,"facts":{},"prompted":["a0005297-95e6-4992-9a01-351cc37371ff"],"seen":{"cwd":["/home/ada/almanac"],"gitBranch":["main"],"version":["2.1.39"],"slug":[],"entrypoint":[]},"span":["2026-03-01T09:00:04.328Z","2026-03-01T09:00:19.251Z"],"position":4,"number":9,"modified":1767225600.0,"calls":{},"links":{"218ba0a3-d35f-48d3-a418-2365b87db0ba":"218ba0a3-d35f-48d3-a418-2365b87db0ba","a0005297-95e6-4992-9a01-351cc37371ff":"a0005297-95e6-4992-9a01-351cc37371ff","c1be340a-ab81-47ba-96a0-8cb43b3c7ba9":"c1be340a-ab81-47ba-96a0-8cb43b3c7ba9","e8669845-9e59-4175-8bcc-4b9301929826":"e8669845-9e59-4175-8bcc-4b9301929826"},"horizon":"","open":[],"answered":["msg_01psQycwWZUnFhJjixxUpApf","msg_01cZrKmpMwinyJB3jfVcCToe"]}');
insert into cursor values (3, '5e1bd177-1e25-4f05-8820-4b8e55392b42.jsonl', 5677, 'a9abcf4adaac6368b3f39a8ecf89a8b8', '{"titles":{"prompt":"Which beds in planting.md still need to be mulched before the first frost?"},"custom":{},"tags":[],"cost":null,"models":{"claude-opus-4-6":3},"summaries":[],"tasks":{},"task_of_agent":{},"parent_id":null,"fork_point":null,"sequence":1,"facts":{},"prompted":["aab4b5c8-2167-4dcc-b174-5d5df892d9b2"],"seen":{"cwd":["/home/ada/garden"],"gitBranch":["main"],"version":["2.1.39"],"slug":["quiet-mossy-lantern"],"entrypoint":[]},"span":["2026-02-10T09:00:07.310Z","2026-02-10T09:00:38.238Z"],"position":6,"number":8,"modified":1767225600.0,"calls":{},"links":{"ef63da32-5df5-493e-9e47-ecd3cd30721f":"ef63da32-5df5-493e-9e47-ecd3cd30721f","429d632c-bd46-4afc-9a2e-b22018bcfe8f":"429d632c-bd46-4afc-9a2e-b22018bcfe8f","d45a7b7f-b5d7-4f8e-8c9f-08ed0b68542f":"429d632c-bd46-4afc-9a2e-b22018bcfe8f","6585eeef-6b89-48d4-881b-304caca0be3b":"6585eeef-6b89-48d4-881b-304caca0be3b","aab4b5c8-2167-4dcc-b174-5d5df892d9b2":"aab4b5c8-2167-4dcc-b174-5d5df892d9b2","85fad6ea-c293-43d3-9968-1b6467e636f2":"85fad6ea-c293-43d3-9968-1b6467e636f2","2ddedc3f-1d01-4ba1-8c7c-1b8b34d83ad7":"2ddedc3f-1d01-4ba1-8c7c-1b8b34d83ad7"},"horizon":"","open":[],"answered":["msg_01vqhp8QmB5S1jfGXwMiVYTJ","msg_01VkZLupuFW5GQkZscN1Ms9U","msg_01vXC37vSdToWSJGpELv8Vzs"]}');
delete from ledger;
insert into ledger values (1, 'mapped', '', 7);
insert into ledger values (1, 'read', '', 7);
insert into ledger values (2, 'mapped', '', 4);
insert into ledger values (2, 'quarantined', 'bad-json', 3);
insert into ledger values (2, 'read', '', 7);
insert into ledger values (3, 'folded', 'message', 1);
insert into ledger values (3, 'mapped', '', 6);
insert into ledger values (3, 'read', '', 8);
insert into ledger values (3, 'skipped', 'file-history', 1);
delete from finding;
insert into finding values (2, 'bad-json', 'error', 3, '[{"where":"line 2, byte 376","message":"Expecting value: line 1 column 1 (char 0)","kept":false},{"where":"line 5, byte 1318","message":"Unterminated string starting at: line 1 column 134 (char 133)","kept":false},{"where":"line 6, byte 1469","message":"Expecting value: line 1 column 1 (char 0)","kept":false}]');
delete from quarantine;
insert into quarantine values (1, 2, 'line 2, byte 376', 'bad-json', 'Expecting value: line 1 column 1 (char 0)', '2026-11-19T05:53:57.455Z', X'74686973206C696E6520776173206E65766572204A534F4E2C20736F6D65626F64792074797065642061206E6F746520696E746F207468652066696C65');
insert into quarantine values (2, 2, 'line 5, byte 1318', 'bad-json', 'Unterminated string starting at: line 1 column 134 (char 133)', '2026-11-19T05:53:57.455Z', X'7B22706172656E7455756964223A2261303030353239372D393565362D343939322D396130312D333531636333373337316666222C22697353696465636861696E223A66616C73652C227573657254797065223A2265787465726E616C222C22637764223A222F686F6D652F6164612F616C6D616E6163222C2273657373696F6E4964223A2235343735326133382D616265612D3431');
insert into quarantine values (3, 2, 'line 6, byte 1469', 'bad-json', 'Expecting value: line 1 column 1 (char 0)', '2026-11-19T05:53:57.455Z', X'5D');
delete from origin;
insert into origin values (1, 1);
insert into origin values (2, 2);
insert into origin values (3, 3);
delete from withheld;
delete from search_data;
insert into search_data values (1, X'1281400019');
insert into search_data values (10, X'000000050102020002010101020101');
insert into search_data values (137438953473, X'00000AC90230319AB1AF9D9C8080800A060102020201329AB1AF9D9C8080800A060102080101329AB1AF9D9C8080800A060102040101339AB1AF9D9C8080800A0601020A0101349AB1AF9D9C8080800A0601020F01016199EEC8AC84808080010403059080808003020988808080010205888080800102058880808001020580C2E6F1C080808006020C86A1C5F080808001020C0204626F75749AB1AF9DD88080800D0202020264619AB1AF9CF0808080090601020402046674657299EEC8AC8880808002020301020302046761696E9AB1AF9DD88080800D020702026E649AB1AF9DA88080800B020D86A1C7A08080800502020207726374757275739AB4C080E08080800F0209B08080800102060301659AB1AF9DA88080800B02040204736964659AB1AF9DD88080800D02060201749AB1AF9CF080808009020586A1C8B880808008020601046261636B9AB4C0818C808080110208030272659AB1AF9D9C8080800A0801020D08988080800102060201659AB1AF9CDC80808008020A0301649AB1AF9DA88080800B04090A0401739AB1AF9CDC80808008020381808080800206010203988080800102030304666F72659AB1AF9CDC80808008020C03036C6F779AB4C080E08080800F020E020369726499EEC8AC8880808003020502036F617499EEC8AC84808080010209988080800402078880808001020788808080010206010B63656E74696D65747265739AB1AF9DD88080800D020402046C6561729AB4C080D08080800E020D02066F6D706172659AB1AF9CF080808009020B010564617465739AB1AF9CF080808009020D020375657499EEC8AC988080800702020106656E6F75676899EEC8AC8C808080040205010566697273749AB1AF9CDC80808008020EA880808001020902056C6F77657299EEC8AC8880808002020502056F6C6C6F779AB4C080E08080800F020203017299EEC8AC8480808001020598808080040204888080800102040203726F6D9AB4C080D08080800E0208040273749AB1AF9CDC80808008020F010667617264656E9AB1AF9CF0808080090601020504036C69639AB1AF9D9C8080800A0601020C9880808001020CA880808001020D010468616E649AB1AF9DD88080800D020D05026C659AB4C080E08080800F02040301739AB4C080F880808010020702036561729AB4C0818C80808011020B02036967689AB1AF9DD88080800D020E03026C6C9AB4C080D08080800E020A02036F6D659AB1AF9CF0808080090601020386A1C7C080808005020703037573659AB4C080E08080800F020B0301779AB1AF9DBC8080800C02060203756E6799EEC8AC888080800202090101699AB1AF9CF080808009020202016E9AB1AF9CDC80808008020481F880808005020F86A1C6C080808003020302017399EEC8AC8C8080800402030201749AB4C080E08080800F020F01046B616C659AB1AF9D9C8080800A060102129880808001021401086C61726B7370757299EEC8AC8880808002020202036561649AB4C080D08080800E02040303656B739AB1AF9D9C8080800A06010206020269659AB1AF9DBC8080800C020B0401739AB4C080E08080800F020C02036F6F6B9AB1AF9CF080808009020401046D61737499EEC8AC8880808002020C0201649AB1AF9CDC808080080206A880808001060102070201659AB1AF9DBC8080800C02050206756C636865649AB1AF9CDC80808008020B8180808080020601020701046E616D6599EEC8AC84808080010204030472726F7799EEC8AC8C80808004020A02036565649AB1AF9CDC8080800802080204696768749AB4C080D08080800E020E02046F7274689AB1AF9D9C8080800A060102050301749AB4C080F8808080100208040265739AB1AF9CF080808009020803017799EEC8AC908080800502028880808001020201076F63746F6265729AB1AF9D9C8080800A060102090201669AB4C080E08080800F020502016E99EEC8AC8880808002020A8880808002020880C2E6F1B080808008020C86A1C6A880808002020B0302636599EEC8AC8880808002020803016599EEC8AC908080800502038880808001020303026C7999EEC8AC98808080070208020472696F6E9AB4C0818C80808011020501057061696E7499EEC8AC8C8080800402070205656F706C6599EEC8AC9080808005020A8880808001020A8880808001020A03047472656C99EEC8AC8880808003020202076C616E74696E679AB1AF9CDC808080080205A880808001080701020603046561736599EEC8AC8480808001020A03046F7567689AB4C080E08080800F020702036F6E649AB1AF9D9C8080800A060102109880808001020F020575736865649AB1AF9DD88080800D02050104726561649AB1AF9CF0808080090601020203046D696E649AB1AF9DBC8080800C02040204696768749AB4C080E08080800F020D030373656E9AB4C080F880808010020902026F7799EEC8AC9880808007020B0403696E6799EEC8AC908080800502068880808001020601077361696C696E6799EEC8AC8480808001020805036F727399EEC8AC88808080020207020465656D7399EEC8AC8880808003020702046861726599EEC8AC9080808005020B8880808001020B03046F6F74739AB1AF9DD88080800D020A0402727499EEC8AC8C8080800402040403756C649AB1AF9DBC8080800C020A02036964659AB1AF9D9C8080800A060102119880808001021002046D616C6C99EEC8AC8480808001020702036F696C9AB1AF9D9C8080800A0801020E0802057072696E679AB1AF9DD88080800D0210020474616E649AB1AF9DD88080800D020B040272739AB4C080D08080800E0203030365726E99EEC8AC8C80808004020B0303696C6C9AB1AF9CDC808080080207819880808003020503037261779AB1AF9DBC8080800C0209040365616D9AB4C0818C80808011020D020375697499EEC8AC98808080070204010374656E9AB1AF9DD88080800D0203020468616E6B9AB1AF9DBC8080800C020204017499EEC8AC8880808002020601020690808080020208888080800102088880808001020703016599EEC8AC88808080020404090104040980C2E6F0D480808005020DA880808001040608F0808080020807060507A8808080010208B880808001020986A1C5F080808001040506A08080800106030506D880808002020C04016E9AB1AF9CF080808009020A86A1C8B8808080080202030369636B9AB1AF9DBC8080800C0207030372656599EEC8AC9080808005020902016F99EEC8AC888080800302088880808001020680C2E6F0D080808004020986A1C888808080070208020372696F99EEC8AC8C8080800402020202776F99EEC8AC948080800602098880808001020980C2E6F1908080800402020105756E74696C9AB4C0818C8080801102090203706F6E99EEC8AC8880808003020A010477616C6B99EEC8AC8880808003020980C5F7D5848080800E0203030374657299EEC8AC8880808003020C0301799AB4C080D08080800E020602036573749AB1AF9D9C8080800A0601020B98808080010208020368656E9AB1AF9DD88080800D020886A1C6C080808003020503036963689AB1AF9CDC80808008020286A1C7E88080800602020203696C6C9AB1AF9CF080808009020303046E7465729AB4C080F8808080100204030274689AB1AF9DA88080800B040A0A86A1C7C880808006020402046F756C6499EEC8AC9880808007020302047269746599EEC8AC8480808001020201037965749AB4C080F880808010020A02026F759AB1AF9DBC8080800C020386A1C7A080808005020A0401729AB4C0818C8080801102070410101010104011111411191B0E111811190E0F1F111010251811131210131912121C100F1520110F0E10100F1C100E100E200E0E1A1510120F0E1011170E1D11111011130E0F15160E2A0F150F111220111E11111912131111100F1714101118110F1019111312110F1018101010101126591810102A102112101C100E191A1A10111A11111019');
insert into search_data values (274877906945, X'0000001404307965739AAAE4AD8080808012020204');
delete from search_idx;
insert into search_idx values (1, X'', 2);
insert into search_idx values (2, X'', 2);
delete from search_docsize;
insert into search_docsize values (3727365036151144449, X'090000');
insert into search_docsize values (3727365038298628098, X'0B0000');
insert into search_docsize values (3727365038298628099, X'0B0000');
insert into search_docsize values (3727365040446111748, X'0A0000');
insert into search_docsize values (3727365042593595397, X'0A0000');
insert into search_docsize values (3727365044741079046, X'0A0000');
insert into search_docsize values (3727365046888562695, X'0A0000');
insert into search_docsize values (3795165387738316818, X'010000');
insert into search_docsize values (3802579375317057544, X'0E0000');
insert into search_docsize values (3802579386054475785, X'0C0006');
insert into search_docsize values (3802579409676795914, X'000013');
insert into search_docsize values (3802579416119246859, X'130000');
insert into search_docsize values (3802579426856665100, X'0C0000');
insert into search_docsize values (3802579441889050637, X'0F0000');
insert into search_docsize values (3806104678031163406, X'0D0000');
insert into search_docsize values (3806104686621097999, X'0E0000');
insert into search_docsize values (3806104699505999888, X'090000');
insert into search_docsize values (3806104710243418129, X'0C0000');
delete from search_config;
insert into search_config values ('automerge', 64);
insert into search_config values ('crisismerge', 256);
insert into search_config values ('hashsize', 16777216);
insert into search_config values ('pgsz', 8000);
insert into search_config values ('version', 4);
delete from answer_usage;
insert into answer_usage values (18, 'chatcmpl-1', NULL, 3, NULL, NULL, NULL, NULL, '{"output_tokens":3}');
insert into answer_usage values (18, 'chatcmpl-2', NULL, 4, NULL, NULL, NULL, NULL, '{"output_tokens":4}');
delete from usage_record;
insert into usage_record values (1, 'azure_openai', 'call-1', 'request', '2026-01-01T10:00:00.000Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL, '{"kind":"request","platform":{"name":"azure_openai"},"schema_version":"1.0.0","started_at":"2026-01-01T10:00:00.000Z","tokens":{"output_tokens":7},"usage_id":"call-1"}');
delete from usage_origin;
delete from settled_hash;
delete from recent_hash;
insert into recent_hash values (X'09BD7573196FF33323FECD3E3222BE04', 5);
insert into recent_hash values (X'0BE1E47A4EDD86E6AC8D948A1CC9DADA', 3);
insert into recent_hash values (X'2AE52D4170A5B6E7891E5943C7DC93E8', 7);
insert into recent_hash values (X'2F081C4CBF2837CDE36AE6CB1A3E6A6B', 18);
insert into recent_hash values (X'30C8B3B8C8D632055548D92932E3D7AB', 12);
insert into recent_hash values (X'3B0E68F8506A24D38185B69AE3A0BE2F', 9);
insert into recent_hash values (X'6F4A0C5D912871109F1B2452198993CC', 1);
insert into recent_hash values (X'72795AC7076A481DCABA78E80F11837A', 10);
insert into recent_hash values (X'74CB9DD81AE7C84776182DB46E27127C', 11);
insert into recent_hash values (X'7602E2A36A69C6BCC0CCA36730327DA3', 2);
insert into recent_hash values (X'78C8454A3A3C6CCABBB9EDF29C924B1A', 15);
insert into recent_hash values (X'7C3ACBB9065ABEE41F88C3BAED42F50C', 4);
insert into recent_hash values (X'91CC34FF8DDFA341E4002E9EDAE1BF99', 8);
insert into recent_hash values (X'CF113AF9F0986E570AB0D3686070E85D', 16);
insert into recent_hash values (X'D1574A3287DAB01EE35FB8F34559BDA2', 14);
insert into recent_hash values (X'D6FEE123D9F460074D242103A607CE6C', 6);
insert into recent_hash values (X'E76995BC3BA1DEC5ABE2C68BF615E544', 17);
insert into recent_hash values (X'EB52A11222AFF6A258236C4CAB64D4EF', 13);
CREATE INDEX conversation_by_creation on conversation (created_at);
CREATE INDEX conversation_by_parent on conversation (parent_conversation_id)
            where parent_conversation_id is not null;
CREATE INDEX tool_call_by_body on tool_call (body);
CREATE UNIQUE INDEX message_by_id on message (conversation, message_id);
CREATE INDEX message_by_body on message (body, conversation, timestamp, role, author_kind);
CREATE INDEX message_by_api_message_id on message (api_message_id) where api_message_id is not null;
CREATE INDEX revision_by_body on revision (body);
CREATE INDEX source_file_by_source on source_file (source);
CREATE INDEX quarantine_by_source on quarantine (source);
CREATE INDEX origin_by_source on origin (source);
CREATE INDEX withheld_by_source on withheld (source);
CREATE INDEX answer_usage_by_api_message_id on answer_usage (api_message_id);
CREATE INDEX usage_record_by_time on usage_record (started_at);
CREATE INDEX usage_origin_by_source on usage_origin (source);
CREATE TRIGGER hash_of_removed_body after delete on body begin
                delete from recent_hash where hash = old.hash and body = old.body_key;
                delete from settled_hash where hash = old.hash and body = old.body_key;
            end;
CREATE INDEX message_by_sending on message (conversation, api_message_id) where sent_at is not null;
CREATE INDEX message_by_sent_request on message (sent_request, sent_at)
            where sent_request is not null;
CREATE INDEX message_by_sent_request_id on message (request_id, api_message_id) where sent_at is not null;
CREATE INDEX message_by_request_id on message (request_id, sent_at) where api_message_id is null
            and request_id is not null and (sent_at is null or tokens is not null);
pragma user_version = 5;
pragma application_id = 1346456662;
commit;
